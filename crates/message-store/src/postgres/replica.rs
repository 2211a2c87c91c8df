//! Waits for a replica to catch up.

use std::time::Duration;

use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use super::PostgresStore;
use super::error::error;
use super::pools::Pool;
use super::read::number;
use crate::{Error, GlobalPosition};

impl PostgresStore {
    /// Waits until reads see the message at a global position that a write has returned. Without
    /// this, reads from a replica may miss the message for a moment. Without a replica, this
    /// returns at once.
    ///
    /// If the message was deleted or never existed, this waits until the replica has everything
    /// that was committed when the wait began. It queries the primary once and the replica every 2
    /// ms.
    ///
    /// # Errors
    /// [`Error::Timeout`] if the replica does not catch up within [`Config::read_timeout`];
    /// [`Error::Unavailable`] or [`Error::Database`] if a server fails; [`Error::Closed`] after
    /// [`MessageStore::close`](crate::MessageStore::close).
    ///
    /// [`Config::read_timeout`]: super::Config::read_timeout
    pub async fn wait_for(&self, position: GlobalPosition) -> Result<(), Error> {
        const PAUSE: Duration = Duration::from_millis(2);
        let pools = self.pools()?;
        let Some(replica) = &pools.replica else {
            return Ok(());
        };
        let give_up = Instant::now() + replica.time_limit();
        let log_position = self.log_position(&pools.primary).await?;
        while !self.is_replayed(replica, position, &log_position).await? {
            if Instant::now() >= give_up {
                return Err(replica.timeout_error());
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    async fn log_position(&self, primary: &Pool) -> Result<String, Error> {
        let sql = &self.shared.statements.log_position;
        let rows = primary.rows(|| sqlx::query(sql.clone())).await?;
        let position = rows.first().map(|row| row.try_get(0)).transpose();
        Ok(position
            .map_err(|failed| error(&failed))?
            .unwrap_or_default())
    }

    async fn is_replayed(
        &self,
        replica: &Pool,
        position: GlobalPosition,
        log_position: &str,
    ) -> Result<bool, Error> {
        let sql = &self.shared.statements.is_replayed;
        let statement = || {
            sqlx::query(sql.clone())
                .bind(number(position.get()))
                .bind(log_position)
        };
        let rows = replica.rows(statement).await?;
        let replayed: Option<Option<bool>> = rows
            .first()
            .map(|row| row.try_get(0))
            .transpose()
            .map_err(|failed| error(&failed))?;
        // The result is NULL if the "replica" is a primary, which replays nothing. Then wait for
        // the message itself.
        Ok(replayed.flatten().unwrap_or(false))
    }
}
