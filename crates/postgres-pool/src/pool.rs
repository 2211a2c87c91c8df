use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, Error};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::time::{timeout, timeout_at};

use crate::connect::connect;
use crate::open::Open;
use crate::{Lease, Limits};

/// Connections to one server. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    options: PgConnectOptions,
    limits: Limits,
    /// One for each connection that may be open; who waits is served in order of arrival.
    permits: Arc<Semaphore>,
    resting: Mutex<Resting>,
    /// Told when a connection begins to rest.
    came_back: Notify,
    size: Arc<AtomicU32>,
    closed: AtomicBool,
}

#[derive(Default)]
struct Resting {
    /// The one that came back last is at the end.
    connections: VecDeque<Open>,
    /// What was not seen alive since may be dead.
    suspected: Option<Instant>,
}

impl Pool {
    /// Connects when a connection is first asked for.
    pub fn new(options: PgConnectOptions, limits: Limits) -> Self {
        let permits = limits.connections.max(1) as usize;
        Self {
            shared: Arc::new(Shared {
                options,
                limits,
                permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
                resting: Mutex::default(),
                came_back: Notify::new(),
                size: Arc::default(),
                closed: AtomicBool::new(false),
            }),
        }
    }

    /// Borrows a connection: the one that came back last, or a new one. No round trip where one
    /// rests. A future that is dropped leaves nothing behind.
    ///
    /// # Errors
    /// [`Error::PoolTimedOut`] after [`Limits::wait`], also where the server refuses connections all
    /// that time; [`Error::PoolClosed`]; what the server says where it wants nobody.
    pub async fn acquire(&self) -> Result<Lease, Error> {
        let shared = &self.shared;
        if self.is_closed() {
            return Err(Error::PoolClosed);
        }
        let permit = match Arc::clone(&shared.permits).try_acquire_owned() {
            Ok(permit) => match shared.fresh() {
                Some(open) => return Ok(Lease::new(open, Arc::clone(shared), permit)),
                None => Some(permit),
            },
            Err(TryAcquireError::NoPermits) => None,
            Err(TryAcquireError::Closed) => return Err(Error::PoolClosed),
        };
        timeout(shared.limits.wait, self.wait(permit))
            .await
            .unwrap_or(Err(Error::PoolTimedOut))
    }

    async fn wait(&self, permit: Option<OwnedSemaphorePermit>) -> Result<Lease, Error> {
        let shared = &self.shared;
        let permit = match permit {
            Some(permit) => permit,
            None => Arc::clone(&shared.permits)
                .acquire_owned()
                .await
                .map_err(|_closed| Error::PoolClosed)?,
        };
        if self.is_closed() {
            return Err(Error::PoolClosed);
        }
        let open = shared.open().await?;
        Ok(Lease::new(open, Arc::clone(shared), permit))
    }

    /// Whether there is a connection that nobody has borrowed, at this moment.
    pub fn has_resting(&self) -> bool {
        let shared = &self.shared;
        shared.permits.available_permits() > 0 && !shared.resting.lock().connections.is_empty()
    }

    /// Every connection that is open now may be dead: the next borrower of each has it checked.
    ///
    /// A server that restarts kills them all, and without this each would fail the statement that
    /// finds out.
    pub fn suspect(&self) {
        self.shared.resting.lock().suspected = Some(Instant::now());
    }

    /// How many connections are open, lent ones included.
    pub fn size(&self) -> u32 {
        self.shared.size.load(Ordering::Relaxed)
    }

    /// Whether [`Pool::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Lends nothing any more, waits until everything lent has come back, and ends the sessions.
    pub async fn close(&self) {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::Release);
        let all = shared.limits.connections.max(1);
        // Closed already: another call did it.
        let Ok(_all) = shared.permits.acquire_many(all).await else {
            return;
        };
        shared.permits.close();
        let resting = std::mem::take(&mut shared.resting.lock().connections);
        for open in resting {
            open.close().await;
        }
    }
}

impl Shared {
    /// A connection that needs nothing before it is used.
    fn fresh(&self) -> Option<Open> {
        let mut resting = self.resting.lock();
        let last = resting.connections.back()?;
        let suspect = resting
            .suspected
            .is_some_and(|suspected| last.seen_alive < suspected);
        if suspect || last.opened.elapsed() > self.limits.age {
            return None;
        }
        resting.connections.pop_back()
    }

    /// A connection that is alive, by a round trip if need be, or a new one. Tries again as long as
    /// the server refuses; the caller bounds the time.
    async fn open(&self) -> Result<Open, Error> {
        let longest_pause = (self.limits.wait / 5).min(Duration::from_secs(2));
        let mut pause = Duration::from_millis(10).min(longest_pause);
        loop {
            if let Some(open) = self.rested().await {
                return Ok(open);
            }
            if let Some(connection) = connect(&self.options).await? {
                return Ok(Open::new(connection, &self.size));
            }
            // Where the server is full, another's connection may come back.
            let end = Instant::now() + pause;
            while timeout_at(end.into(), self.came_back.notified())
                .await
                .is_ok()
            {
                if let Some(open) = self.fresh() {
                    return Ok(open);
                }
            }
            pause = (pause * 2).min(longest_pause);
        }
    }

    /// One of the connections that rest, if it is alive.
    async fn rested(&self) -> Option<Open> {
        loop {
            if let Some(open) = self.fresh() {
                return Some(open);
            }
            let mut open = self.resting.lock().connections.pop_back()?;
            if open.opened.elapsed() > self.limits.age {
                open.close().await;
                continue;
            }
            let asked = Instant::now();
            if open.connection.ping().await.is_ok() {
                open.seen_alive = asked;
                return Some(open);
            }
        }
    }

    /// Takes a connection that may have to answer yet.
    pub(crate) async fn ask_and_rest(&self, mut open: Open) {
        let asked = timeout(self.limits.wait, open.connection.ping()).await;
        if matches!(asked, Ok(Ok(()))) {
            self.rest(open);
        }
    }

    /// Takes a connection that can be used at once.
    pub(crate) fn rest(&self, mut open: Open) {
        let now = Instant::now();
        open.rests_since = now;
        let mut resting = self.resting.lock();
        resting.connections.push_back(open);
        let idle = |open: &Open| now.duration_since(open.rests_since) > self.limits.idle;
        let unneeded = match resting.connections.front().is_some_and(idle) {
            true => resting.connections.pop_front(),
            false => None,
        };
        drop(resting);
        self.came_back.notify_one();
        if let Some(unneeded) = unneeded
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(unneeded.close());
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("size", &self.size())
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}
