//! Reading one's own writes from a replica.

use std::time::Duration;

use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use super::PostgresStore;
use super::error::error;
use super::pools::Pool;
use super::read::number;
use crate::{Error, GlobalPosition};

impl PostgresStore {
    /// Waits until reads see the message at this global position, which some writer was told: a
    /// replica may be behind. Without a replica they see it already.
    ///
    /// Where the message is gone or never was, it waits until the replica has all that was
    /// committed when the wait began. One query of the database, then one of the replica every
    /// few milliseconds.
    ///
    /// # Errors
    /// [`Error::Timeout`] where the replica is not there within the time allowed for a read, or
    /// what the servers met.
    pub async fn wait_for(&self, position: GlobalPosition) -> Result<(), Error> {
        const PAUSE: Duration = Duration::from_millis(2);
        let pools = self.pools()?;
        let Some(replica) = &pools.replica else {
            return Ok(());
        };
        let give_up = Instant::now() + replica.limit();
        let log_position = self.log_position(&pools.primary).await?;
        while !self.is_replayed(replica, position, &log_position).await? {
            if Instant::now() >= give_up {
                return Err(replica.timeout());
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
        Ok(replayed.flatten().unwrap_or(false))
    }
}
