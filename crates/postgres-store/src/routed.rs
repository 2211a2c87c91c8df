//! Reads that go to a replica, or to the primary where no replica serves.
//!
//! A read has one time limit, however many servers and connections it tries. Its future is boxed: several
//! layers of calls would make that of the caller large, and too deep for the compiler.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::SqlStr;
use store_fault::Fault;
use store_meter::PoolMeter;
use tokio::time::timeout_at;
use tracing::Instrument as _;

use crate::config::{ServerConfig, Servers};
use crate::readers::Readers;
use crate::replicas::{Replica, Replicas, Watching};
use crate::server::Server;
use crate::statement::{MARGIN, deadline_after};
use crate::store_error::StoreError;
use crate::task::in_task;
use crate::turns::Turns;

/// What a store reads from one server with: [`Readers`], alone or with state of the store's own.
pub trait Reads: Clone + Send + Sync + 'static {
    /// The store's error.
    type Error: StoreError;

    /// The connections.
    fn readers(&self) -> &Readers<Self::Error>;
}

impl<E: StoreError> Reads for Readers<E> {
    type Error = E;

    fn readers(&self) -> &Readers<E> {
        self
    }
}

/// How servers are asked how far they are. Each statement returns a bigint that grows with the writes.
pub struct Progress {
    /// The statement for the primary.
    pub primary: SqlStr,
    /// The statement for a replica. NULL means that it lacks nothing.
    pub replica: SqlStr,
}

/// The readers of a primary and of its replicas. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Routed<R> {
    server: Server,
    primary: R,
    replicas: Replicas<R>,
    limit: Duration,
    turns: Turns,
}

impl<R: Reads> Routed<R> {
    /// Connects to the replicas, and to the primary on first use. `reads` adds the store's own state to
    /// the readers of each server.
    pub async fn connect(
        config: &ServerConfig,
        servers: Servers,
        progress: Progress,
        meter: &PoolMeter,
        reads: impl Fn(Readers<R::Error>) -> R,
    ) -> Self {
        let reads = |server: &Server| reads(Readers::new(config, server, meter.clone()));
        let of_replica = |replica: &Server| {
            let reads = reads(replica);
            let pool = reads.readers().pool().clone();
            (replica.hosts().clone(), pool, reads)
        };
        let watching = Watching {
            primary: servers.primary.hosts().clone(),
            primary_progress: progress.primary,
            replica_progress: progress.replica,
            max_lag: config.max_replica_lag,
        };
        let replicas: Vec<_> = servers.replicas.iter().map(of_replica).collect();
        let connections = config.read_connections as usize;
        let connections = connections.saturating_mul(1 + replicas.len());
        Self {
            primary: reads(&servers.primary),
            replicas: Replicas::watch(replicas, watching).await,
            server: servers.primary,
            limit: config.read_timeout,
            turns: Turns::new(connections),
        }
    }

    /// The server that takes writes.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The readers of the primary.
    pub fn primary(&self) -> &R {
        &self.primary
    }

    /// The replicas, in use or not.
    pub fn replicas(&self) -> &Replicas<R> {
        &self.replicas
    }

    /// Reads from a replica, or from the primary if there is none to use, or if the replica fails or
    /// lacks what the read asks for.
    ///
    /// # Errors
    /// Those of `read`; [`Readers::late`] after the time limit of a read.
    pub async fn read<'a, T, F>(&'a self, read: impl Fn(&'a R) -> F) -> Result<T, R::Error>
    where
        F: Future<Output = Result<T, R::Error>>,
    {
        let mut reading = Box::pin(self.anywhere(|reads, _| read(reads)));
        self.within(self.limit, reading.as_mut()).await
    }

    /// As [`read`](Self::read), for a stream that goes on after the call. `open` also gets the replica,
    /// if it reads from one. Opening may take longer than a read: a silent connection is given up after
    /// the time limit of a read, and the call goes on with another one.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn open<'a, T, F>(
        &'a self,
        open: impl Fn(&'a R, Option<&'a Arc<Replica<R>>>) -> F,
    ) -> Result<T, R::Error>
    where
        F: Future<Output = Result<T, R::Error>>,
    {
        let mut opening = Box::pin(self.anywhere(open));
        self.within(twice(self.limit), opening.as_mut()).await
    }

    async fn anywhere<'a, T, F>(
        &'a self,
        read: impl Fn(&'a R, Option<&'a Arc<Replica<R>>>) -> F,
    ) -> Result<T, R::Error>
    where
        F: Future<Output = Result<T, R::Error>>,
    {
        if let Some(replica) = self.replicas.choose()
            && let Some(answer) = answer(replica, read(replica.readers(), Some(replica))).await
        {
            return answer;
        }
        self.unless_doubtful(|| read(&self.primary, None)).await
    }

    /// Reads from the primary.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn on_primary<'a, T, F>(&'a self, read: impl Fn(&'a R) -> F) -> Result<T, R::Error>
    where
        F: Future<Output = Result<T, R::Error>>,
    {
        let mut reading = Box::pin(self.unless_doubtful(|| read(&self.primary)));
        self.within(self.limit, reading.as_mut()).await
    }

    /// Runs a read of a follower once it is the follower's turn. In a task, because a caller that is not
    /// polled must not keep its turn.
    ///
    /// # Errors
    /// Those of `read`; an outage, if it lasts for the time limit of a read while the follower waits;
    /// [`Fault::Closed`] if the runtime shuts down before.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, R::Error>> + Send + 'static,
    ) -> Result<T, R::Error> {
        let (turns, readers) = (self.turns.clone(), self.primary.readers().clone());
        let reading = async move {
            let _turn = turns.next(&readers).await?;
            read.await
        };
        in_task(reading.in_current_span()).await
    }

    /// Reads from the primary. A server that lost the lead in a failover may still answer, and lack what
    /// the reader has seen at the next leader. Then the read runs again, on a new connection.
    async fn unless_doubtful<T, F>(&self, read: impl Fn() -> F) -> Result<T, R::Error>
    where
        F: Future<Output = Result<T, R::Error>>,
    {
        match read().await {
            Err(failed) if failed.is_out_of_place() => {
                self.primary.readers().doubt();
                read().await
            }
            answer => answer,
        }
    }

    /// Runs the parts of a call within one time limit. Takes the future by reference: by value, the
    /// caller's future would have its size several times.
    ///
    /// # Errors
    /// The call's; [`Readers::late`] after the limit.
    pub async fn within<T>(
        &self,
        limit: Duration,
        call: Pin<&mut impl Future<Output = Result<T, R::Error>>>,
    ) -> Result<T, R::Error> {
        let begun = Instant::now();
        let in_time = timeout_at(deadline_after(limit), call).await;
        in_time.unwrap_or_else(|_| Err(self.primary.readers().late(begun, "read", limit)))
    }

    /// The replicas that reads use at this moment. The others do not answer, or lag too far behind.
    pub fn in_use(&self) -> impl Iterator<Item = &Arc<Replica<R>>> {
        let each = self.replicas.each().iter();
        each.filter(|replica| replica.is_in_use())
    }

    /// The number of open connections for reads.
    pub fn size(&self) -> u64 {
        self.sum(|readers| u64::from(readers.size()))
    }

    /// The number of statements so far. A retry counts again.
    pub fn statements(&self) -> u64 {
        self.sum(Readers::statements)
    }

    fn sum(&self, number: impl Fn(&Readers<R::Error>) -> u64) -> u64 {
        let of_replicas = self.replicas.each().iter();
        let of_replicas = of_replicas.map(|replica| number(replica.readers().readers()));
        of_replicas.sum::<u64>() + number(self.primary.readers())
    }

    /// Replaces each connection that is open now before its next statement.
    pub fn retire(&self) {
        for replica in self.replicas.each() {
            replica.readers().readers().retire();
        }
        self.primary.readers().retire();
    }

    /// Closes the connections, as [`Readers::close`] does.
    pub async fn close(&self) {
        for replica in self.replicas.each() {
            replica.readers().readers().close().await;
        }
        self.primary.readers().close().await;
    }
}

/// The answer of a replica. `None` if the primary should answer instead.
pub async fn answer<R: Reads, T>(
    replica: &Replica<R>,
    read: impl Future<Output = Result<T, R::Error>>,
) -> Option<Result<T, R::Error>> {
    match replica.answer(read).await? {
        Err(failed) if matches!(failed.fault(), Some(Fault::Unreachable(_))) => {
            replica.give_up();
            None
        }
        // The replica is behind or follows another server than the primary, or recovery stopped the
        // statement. A statement that the primary refuses too fails there.
        Err(failed) if is_refusal(failed.fault()) || failed.is_out_of_place() => None,
        answer => Some(answer),
    }
}

/// The time limit of a call that gives a silent connection up after `limit`, and goes on with another
/// one.
fn twice(limit: Duration) -> Duration {
    limit.saturating_add(MARGIN).saturating_mul(2)
}

impl<R> fmt::Debug for Routed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routed")
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// Whether the server refused the statement or gave it up.
fn is_refusal(fault: Option<&Fault>) -> bool {
    matches!(
        fault,
        Some(Fault::Refused(_) | Fault::Aborted(_) | Fault::Locked(_))
    )
}
