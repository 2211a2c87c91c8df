//! Reads from replicas, and from the primary where no replica serves.

use std::time::Duration;

use postgres_store::{Hosts, Pool, Replica, Replicas, Watching};

use super::PostgresStore;
use super::config::Config;
use super::readers::Readers;
use super::statements::Statements;
use crate::wait::wait_until;
use crate::{Error, EventStore as _, Position};

/// Begins to watch the replicas of a configuration.
pub(super) async fn watch(
    config: &Config,
    replicas: Vec<(Hosts, Pool, Readers)>,
    primary: Hosts,
    statements: &Statements,
) -> Replicas<Readers> {
    let watching = Watching {
        primary,
        primary_progress: statements.progress.clone(),
        replica_progress: statements.progress.clone(),
        max_lag: config.max_replica_lag,
    };
    Replicas::watch(replicas, watching).await
}

impl PostgresStore {
    /// Reads from a replica, or from the primary if there is none to use, or if the replica fails or
    /// lacks what the read asks for.
    pub(super) async fn on_reader<'a, T, F>(
        &'a self,
        read: impl Fn(&'a Readers) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        if let Some(replica) = self.shared.replicas.choose()
            && let Some(answer) = answer(replica, read(replica.readers())).await
        {
            return answer;
        }
        self.on_primary(|| read(&self.shared.primary)).await
    }

    /// Reads from the primary. A server that lost the lead in a failover may still answer, and lack what
    /// the reader has seen at the next leader. Then the read runs again, on a new connection.
    pub(super) async fn on_primary<T, F>(&self, read: impl Fn() -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        match read().await {
            Err(Error::AfterBeyondHead { .. } | Error::PastReplaced { .. }) => {
                self.shared.primary.doubt();
                read().await
            }
            answer => answer,
        }
    }

    /// As [`EventStore::wait_for`](crate::EventStore::wait_for), if there are replicas.
    pub(super) async fn wait_for_replicas(
        &self,
        position: Position,
        limit: Duration,
    ) -> Result<Position, Error> {
        let appends = self.notifications();
        let head = wait_until(position, limit, appends, || self.lowest_head()).await?;
        // A replica that comes into use from now on has the event.
        self.shared.replicas.require(position.get());
        Ok(head)
    }

    /// The lowest head that a read may see.
    async fn lowest_head(&self) -> Result<Option<Position>, Error> {
        let mut lowest = None;
        for replica in self.shared.replicas.each() {
            if !replica.is_in_use() {
                continue;
            }
            if let Some(head) = answer(replica, self.head_of(replica.readers())).await {
                let head = head?;
                replica.note_progress(Position::number_or_zero(head));
                lowest = Some(lowest.map_or(head, |lowest: Option<Position>| lowest.min(head)));
            }
        }
        match lowest {
            Some(lowest) => Ok(lowest),
            None => self.head_of(&self.shared.primary).await,
        }
    }

    /// The number of replicas that reads use at this moment. The others do not answer, or lag behind
    /// the primary by more than [`Config::max_replica_lag`](super::ServerConfig::max_replica_lag).
    pub fn replicas_in_use(&self) -> usize {
        let each = self.shared.replicas.each().iter();
        each.filter(|replica| replica.is_in_use()).count()
    }
}

/// The answer of a replica. `None` if the primary should answer instead.
pub(super) async fn answer<T>(
    replica: &Replica<Readers>,
    read: impl Future<Output = Result<T, Error>>,
) -> Option<Result<T, Error>> {
    match replica.answer(read).await? {
        Err(Error::Unavailable { .. }) => {
            replica.give_up();
            None
        }
        // The replica is behind or follows another server than the primary, or recovery stopped the
        // statement. A statement that the primary refuses too fails there.
        Err(
            Error::AfterBeyondHead { .. } | Error::PastReplaced { .. } | Error::Database { .. },
        ) => None,
        answer => Some(answer),
    }
}
