//! Waits until replicas have an event.

use std::time::Duration;

use postgres_store::answer;

use super::PostgresStore;
use crate::wait::wait_until;
use crate::{Bookmark, Error, EventStore as _, Position};

impl PostgresStore {
    /// As [`EventStore::wait_for`](crate::EventStore::wait_for), if there are replicas.
    pub(super) async fn wait_for_replicas(
        &self,
        position: Position,
        limit: Duration,
    ) -> Result<Position, Error> {
        let appends = self.notifications();
        let head = wait_until(position, limit, appends, || self.lowest_head()).await?;
        // A replica that comes into use from now on has the event.
        self.shared.readers.replicas().require(position.get());
        Ok(head)
    }

    /// The lowest head that a read may see.
    async fn lowest_head(&self) -> Result<Option<Position>, Error> {
        let mut lowest = None;
        for replica in self.shared.readers.in_use() {
            if let Some(head) = answer(replica, self.head_of(replica.readers())).await {
                let head = Bookmark::position_of(head?);
                replica.note_progress(Position::number_or_zero(head));
                lowest = Some(lowest.map_or(head, |lowest: Option<Position>| lowest.min(head)));
            }
        }
        match lowest {
            Some(lowest) => Ok(lowest),
            None => {
                let head = self.head_of(self.shared.readers.primary()).await;
                head.map(Bookmark::position_of)
            }
        }
    }

    /// The number of replicas that reads use at this moment. The others do not answer, or lag behind
    /// the primary by more than [`Config::max_replica_lag`](super::ServerConfig::max_replica_lag).
    pub fn replicas_in_use(&self) -> usize {
        self.shared.readers.in_use().count()
    }
}
