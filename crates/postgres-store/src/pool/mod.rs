//! Connections that statements borrow, and that come back without a round trip.

mod keeper;
mod lease;
mod limits;
mod open;

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::{Connection as _, Error};
use store_meter::{PoolMeter, Timer};
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio::task::JoinHandle;
use tokio::time::{timeout, timeout_at};

pub use self::lease::Lease;
pub use self::limits::Limits;
use self::open::Open;
pub use self::open::Process;
use crate::failure::Failure;
use crate::hosts::{self, Found, Hosts};
use crate::statement::{Asking, in_time_unless};

/// A pool of connections to one server, which may move to another of its hosts. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    hosts: Hosts,
    limits: Limits,
    meter: PoolMeter,
    /// One permit per connection that may be open. The semaphore serves waiting borrowers in order
    /// of arrival.
    permits: Arc<Semaphore>,
    /// The permit of one connection more, for a borrower that waits for no others.
    spare: Arc<Semaphore>,
    idle: Mutex<Idle>,
    /// Notified when a connection becomes idle.
    became_idle: Notify,
    size: Arc<AtomicU32>,
    closed: AtomicBool,
    /// The task that looks after idle connections, once there is a connection.
    keeper: Mutex<Option<JoinHandle<()>>>,
}

/// How long the rest of an abandoned answer may take. Then a new connection is better.
const ABANDONED: Duration = Duration::from_secs(2);

#[derive(Default)]
struct Idle {
    /// In the order in which they came back. The pool lends the last one, because its server
    /// process has warm caches. Unneeded connections age at the front.
    connections: VecDeque<Open>,
    /// A connection not seen alive since this time may be dead.
    stale_before: Option<Instant>,
    /// A connection opened before this time is not lent again.
    retired_before: Option<Instant>,
}

impl Idle {
    fn is_stale(&self, open: &Open) -> bool {
        self.stale_before
            .is_some_and(|stale_before| open.seen_alive < stale_before)
    }

    fn is_retired(&self, open: &Open) -> bool {
        self.retired_before
            .is_some_and(|retired_before| open.opened < retired_before)
    }
}

impl Pool {
    /// Creates a pool. It opens connections on demand.
    pub fn new(hosts: impl Into<Hosts>, limits: Limits) -> Self {
        Self::metered(hosts, limits, PoolMeter::default())
    }

    /// [`Pool::new`], with a meter of waits and connections.
    pub fn metered(hosts: impl Into<Hosts>, limits: Limits, meter: PoolMeter) -> Self {
        let permits = limits.connections.max(1) as usize;
        Self {
            shared: Arc::new(Shared {
                hosts: hosts.into(),
                limits,
                meter,
                permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
                spare: Arc::new(Semaphore::new(1)),
                idle: Mutex::default(),
                became_idle: Notify::new(),
                size: Arc::default(),
                closed: AtomicBool::new(false),
                keeper: Mutex::default(),
            }),
        }
    }

    /// Borrows the connection that came back last, or a new one. An idle connection needs no round
    /// trip, unless [`Pool::suspect`] marked it. Dropping the future leaks neither a connection nor
    /// a place in the queue.
    ///
    /// # Errors
    /// After [`Limits::wait`], an error in which [`connect_error`](crate::connect_error) finds
    /// why no connection could be opened, or [`Error::PoolTimedOut`] if others kept the connections.
    /// Such a cause at once if it won't pass, as a wrong password or a missing database.
    /// [`Error::PoolClosed`] after [`Pool::close`].
    pub async fn acquire(&self) -> Result<Lease, Error> {
        self.acquire_with(&self.shared.permits).await
    }

    /// As [`acquire`](Self::acquire), but waits only for other borrowers of this kind. If all connections
    /// are lent, it opens one more.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub async fn acquire_spare(&self) -> Result<Lease, Error> {
        self.acquire_with(&self.shared.spare).await
    }

    async fn acquire_with(&self, permits: &Arc<Semaphore>) -> Result<Lease, Error> {
        let shared = &self.shared;
        if self.is_closed() {
            return Err(Error::PoolClosed);
        }
        let asked = Timer::start();
        // The fast path: a free permit and an idle connection need neither a wait nor a timer.
        let permit = match Arc::clone(permits).try_acquire_owned() {
            Ok(permit) => match shared.fresh() {
                Some(open) => return Ok(Lease::new(open, Arc::clone(shared), permit, asked)),
                None => Ok(permit),
            },
            Err(TryAcquireError::NoPermits) => Err(permits),
            Err(TryAcquireError::Closed) => return Err(Error::PoolClosed),
        };
        let begun = Instant::now();
        // Pinned here, so that a running attempt still counts when the time is over.
        let mut waiting = pin!(self.wait(permit, asked));
        let waited = timeout(shared.limits.wait, waiting.as_mut()).await;
        waited.unwrap_or_else(|_| Err(self.timed_out(begun)))
    }

    /// The error of a caller that has waited since `begun` and has no more time: why no connection
    /// could be opened in the meantime, or [`Error::PoolTimedOut`].
    pub fn timed_out(&self, begun: Instant) -> Error {
        let outage = self.shared.hosts.outage_since(begun);
        outage.map_or(Error::PoolTimedOut, Error::from)
    }

    /// `permit` is one, or else where to wait for it.
    async fn wait(
        &self,
        permit: Result<OwnedSemaphorePermit, &Arc<Semaphore>>,
        asked: Timer,
    ) -> Result<Lease, Error> {
        let shared = &self.shared;
        let permit = match permit {
            Ok(permit) => permit,
            Err(permits) => Arc::clone(permits)
                .acquire_owned()
                .await
                .map_err(|_closed| Error::PoolClosed)?,
        };
        // Check again, because the pool may have been closed during the wait.
        if self.is_closed() {
            return Err(Error::PoolClosed);
        }
        let open = shared.open().await?;
        Ok(Lease::new(open, Arc::clone(shared), permit, asked))
    }

    /// Whether a connection is idle at this moment.
    pub fn has_resting(&self) -> bool {
        let shared = &self.shared;
        // Without a free permit, a waiting borrower is about to take the idle connection.
        shared.permits.available_permits() > 0 && !shared.idle.lock().connections.is_empty()
    }

    /// Marks every connection that is open now as possibly dead. The pool pings each of them before
    /// it lends that connection again.
    ///
    /// A server restart kills all connections. Without this call, each dead connection would fail
    /// one more statement.
    pub fn suspect(&self) {
        self.shared.idle.lock().stale_before = Some(Instant::now());
    }

    /// Marks every connection that is open now for replacement. The pool closes it instead of lending
    /// it again.
    ///
    /// A changed table, or a server that has become read-only, can spoil all sessions that are
    /// open. A ping does not find out.
    pub fn retire(&self) {
        self.shared.idle.lock().retired_before = Some(Instant::now());
    }

    /// [Retires](Self::retire) the connections, because an answer contradicts what was read before: they
    /// may lead to a server that lost the lead in a failover and does not know it yet. At most once a
    /// second, since a mistake of the caller looks the same.
    pub fn doubt(&self) {
        const PAUSE: Duration = Duration::from_secs(1);
        let mut idle = self.shared.idle.lock();
        if idle
            .retired_before
            .is_none_or(|last| last.elapsed() >= PAUSE)
        {
            idle.retired_before = Some(Instant::now());
        }
    }

    /// Treats all connections by the failure of one: [suspects](Self::suspect) them if it was lost,
    /// and [retires](Self::retire) them if its session is spoiled.
    pub fn learn(&self, failure: Failure) {
        if failure.ends_session() {
            self.shared.meter.lost();
        }
        match failure {
            Failure::Lost => self.suspect(),
            Failure::ReadOnly | Failure::Session => self.retire(),
            _ => {}
        }
    }

    /// Waits for the server's answer to a statement, as [`in_time`](crate::in_time) does. Also gives
    /// up if the server says that `process`, the [process](Lease::process) of the connection, has
    /// nothing to do: then the statement or its answer was lost. `None` behind a pooler, where the
    /// process changes.
    ///
    /// # Errors
    /// As [`in_time`](crate::in_time).
    pub async fn in_time<T>(
        &self,
        limit: Duration,
        process: Option<Process>,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let is_lost = || -> Asking {
            let shared = Arc::clone(&self.shared);
            Box::pin(async move {
                match process {
                    Some(process) => shared.is_idle_at_server(process).await,
                    None => false,
                }
            })
        };
        in_time_unless(limit, answer, is_lost).await
    }

    /// The number of open connections, including lent ones.
    pub fn size(&self) -> u32 {
        self.shared.size.load(Ordering::Relaxed)
    }

    /// Whether [`Pool::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.load(Ordering::Acquire)
    }

    /// Refuses new borrowers, waits until all lent connections have come back, and closes them.
    pub async fn close(&self) {
        let shared = &self.shared;
        shared.closed.store(true, Ordering::Release);
        let all = shared.limits.connections.max(1);
        // Holding all permits means that no connection is lent. An error means that another call
        // has closed the semaphore.
        let Ok(_all) = shared.permits.acquire_many(all).await else {
            return;
        };
        let Ok(_spare) = shared.spare.acquire().await else {
            return;
        };
        shared.permits.close();
        shared.spare.close();
        let idle = std::mem::take(&mut shared.idle.lock().connections);
        for open in idle {
            open.close().await;
        }
    }
}

impl Shared {
    /// Starts to look after idle connections, unless that goes on in a runtime that still runs. A
    /// Unix socket can't die silently.
    fn start_keeper(self: &Arc<Self>) {
        let mut keeper = self.keeper.lock();
        let is_running = keeper.as_ref().is_some_and(|task| !task.is_finished());
        if !is_running && !self.hosts.are_sockets() {
            *keeper = Some(tokio::spawn(keeper::keep(Arc::downgrade(self))));
        }
    }

    /// The last idle connection, if it can be used without a ping.
    fn fresh(&self) -> Option<Open> {
        let mut idle = self.idle.lock();
        let last = idle.connections.back()?;
        if idle.is_stale(last) || idle.is_retired(last) || last.opened.elapsed() > self.limits.age {
            return None;
        }
        idle.connections.pop_back()
    }

    /// An idle connection, pinged if necessary, or a new one. Retries for as long as the server
    /// refuses connections; the caller limits the time.
    async fn open(self: &Arc<Self>) -> Result<Open, Error> {
        let longest_pause = (self.limits.wait / 5).min(Duration::from_secs(2));
        let mut pause = Duration::from_millis(10).min(longest_pause);
        loop {
            if let Some(open) = self.live_idle().await {
                return Ok(open);
            }
            if let Some(found) = self.try_connect().await? {
                self.start_keeper();
                return Open::new(found, &self.size, &self.meter).await;
            }
            // The server may be full. Then a connection that comes back ends the pause early.
            let end = Instant::now() + pause;
            while timeout_at(end.into(), self.became_idle.notified())
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

    /// Opens a connection. `None` if there is none for now.
    async fn try_connect(&self) -> Result<Option<Found>, Error> {
        match hosts::find(&self.hosts).await {
            Err(failed) if failed.may_pass() && !self.hosts.fails_fast => Ok(None),
            found => Ok(Some(found?)),
        }
    }

    /// An idle connection that is alive. Closes connections that are too old or retired, and drops dead
    /// ones.
    async fn live_idle(&self) -> Option<Open> {
        loop {
            if let Some(open) = self.fresh() {
                return Some(open);
            }
            let (mut open, is_retired) = self.next_idle()?;
            if is_retired || open.opened.elapsed() > self.limits.age {
                open.close().await;
                continue;
            }
            if self.is_alive(&mut open).await {
                return Some(open);
            }
            self.meter.lost();
        }
    }

    /// Takes out the last idle connection. True if it is retired.
    fn next_idle(&self) -> Option<(Open, bool)> {
        let mut idle = self.idle.lock();
        let open = idle.connections.pop_back()?;
        let is_retired = idle.is_retired(&open);
        Some((open, is_retired))
    }

    /// Pings a connection whose last statement may be unfinished, and takes it back if it answers.
    /// Otherwise drops the connection.
    pub(super) async fn ping_and_add_idle(&self, mut open: Open) {
        let limit = self.limits.wait.min(ABANDONED);
        let pinged = timeout(limit, open.connection.ping()).await;
        if matches!(pinged, Ok(Ok(()))) {
            self.add_idle(open);
        }
    }

    /// Takes back a connection that is ready for the next statement.
    pub(super) fn add_idle(&self, mut open: Open) {
        let now = Instant::now();
        open.idle_since = now;
        let mut idle = self.idle.lock();
        idle.connections.push_back(open);
        // Close at most one connection per call, so that no borrower pays for closing many.
        let is_unneeded = |open: &Open| now.duration_since(open.idle_since) > self.limits.idle;
        let unneeded = match idle.connections.front().is_some_and(is_unneeded) {
            true => idle.connections.pop_front(),
            false => None,
        };
        drop(idle);
        self.became_idle.notify_one();
        // Without a runtime, the connection is only dropped, which closes its socket.
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
