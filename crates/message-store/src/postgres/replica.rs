//! Reads from replicas, and waits for replicas to catch up.

use std::pin::pin;
use std::sync::PoisonError;
use std::time::Duration;

use postgres_store::{Progress, Replica, answer};
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _};
use tokio::time::sleep;

use super::PostgresStore;
use super::error::error;
use super::read::{Readers, number};
use crate::{Error, GlobalPosition, Settled};

/// How far a server is: the log of the whole server, because the schemas of all namespaces share the
/// replicas.
pub(super) fn progress() -> Progress {
    let sql = |function| {
        let sql = format!("SELECT ({function}() - '0/0'::pg_lsn)::bigint");
        // Safe to assert: the functions are from here.
        AssertSqlSafe(sql).into_sql_str()
    };
    Progress {
        primary: sql("pg_current_wal_lsn"),
        replica: sql("pg_last_wal_replay_lsn"),
    }
}

impl PostgresStore {
    /// Waits until reads see the message at a global position that a write has returned. Without
    /// this, reads from a replica may miss the message for a moment. Without a replica, this
    /// returns at once.
    ///
    /// If the message was deleted or never existed, this waits until the replicas have everything
    /// that was committed when the wait began. It queries the primary once and the replicas every 2
    /// ms. A replica that is not in use is not waited for: it comes back into use with the message.
    ///
    /// # Errors
    /// [`Fault::TimedOut`] if a replica does not catch up within [`Config::read_timeout`];
    /// [`Fault::Unreachable`] or [`Fault::Refused`] if a server fails; [`Fault::Closed`] after
    /// [`MessageStore::close`](crate::MessageStore::close).
    ///
    /// [`Config::read_timeout`]: super::ServerConfig::read_timeout
    /// [`Fault::TimedOut`]: crate::Fault::TimedOut
    /// [`Fault::Unreachable`]: crate::Fault::Unreachable
    /// [`Fault::Refused`]: crate::Fault::Refused
    /// [`Fault::Closed`]: crate::Fault::Closed
    pub async fn wait_for(&self, position: GlobalPosition) -> Result<(), Error> {
        const PAUSE: Duration = Duration::from_millis(2);
        let readers = self.readers()?;
        if readers.replicas().are_none() {
            return Ok(());
        }
        let waiting = async {
            let log_position = self.log_position(readers.primary()).await?;
            while !self.is_replayed(position, log_position).await? {
                sleep(PAUSE).await;
            }
            // A replica that comes into use from now on has the message.
            readers.replicas().require(log_position.unsigned_abs());
            Ok(())
        };
        let limit = readers.primary().limit();
        readers.within(limit, pin!(waiting)).await
    }

    /// This answer, once each replica in use has what the primary had when it was given first: readers
    /// that rely on it may read from any of them.
    pub(super) fn replicated(
        &self,
        settled: Settled,
        log_position: u64,
    ) -> Result<Option<Settled>, Error> {
        let readers = self.readers()?;
        if readers.replicas().are_none() {
            return Ok(Some(settled));
        }
        let last = self.shared.settled.lock();
        let mut last = last.unwrap_or_else(PoisonError::into_inner);
        // Other databases of the server move its log too.
        let since = match *last {
            Some((same, since)) if same == settled => since,
            _ => log_position,
        };
        *last = Some((settled, since));
        if readers.in_use().any(|replica| replica.progress() < since) {
            return Ok(None);
        }
        readers.replicas().require(since);
        Ok(Some(settled))
    }

    /// The number of replicas that reads use at this moment. The others do not answer, or lag behind
    /// the primary by more than [`Config::max_replica_lag`](super::ServerConfig::max_replica_lag). 0 if the store is closed.
    pub fn replicas_in_use(&self) -> usize {
        self.readers().map_or(0, |readers| readers.in_use().count())
    }

    async fn log_position(&self, primary: &Readers) -> Result<i64, Error> {
        let sql = &self.shared.statements.log_position;
        let rows = primary.rows(|| sqlx::query(sql.clone())).await?;
        let position = rows.first().map(|row| row.try_get(0)).transpose();
        Ok(position
            .map_err(|failed| error(&failed))?
            .unwrap_or_default())
    }

    /// Whether each replica in use has the message, or everything up to a position in the log.
    async fn is_replayed(
        &self,
        position: GlobalPosition,
        log_position: i64,
    ) -> Result<bool, Error> {
        for replica in self.readers()?.in_use() {
            let replayed = self.is_replayed_by(replica, position, log_position);
            if let Some(replayed) = answer(replica, replayed).await
                && !replayed?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn is_replayed_by(
        &self,
        replica: &Replica<Readers>,
        position: GlobalPosition,
        log_position: i64,
    ) -> Result<bool, Error> {
        let sql = &self.shared.statements.is_replayed;
        let statement = || {
            sqlx::query(sql.clone())
                .bind(number(position.get()))
                .bind(log_position)
        };
        let rows = replica.readers().rows(statement).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound);
        let decoded = row.and_then(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        let (replayed, progress): (Option<bool>, Option<i64>) =
            decoded.map_err(|failed| error(&failed))?;
        // NULL if the "replica" is a primary, which replays nothing. Then wait for the message itself.
        replica.note_progress(progress.map_or(u64::MAX, i64::unsigned_abs));
        Ok(replayed.unwrap_or(false))
    }
}
