//! Reads from replicas, and waits for replicas to catch up.

use std::pin::pin;
use std::time::Duration;

use postgres_store::{Hosts, Replica, Watching};
use sqlx::{AssertSqlSafe, Row as _, SqlSafeStr as _};
use tokio::time::{Instant, sleep};

use super::PostgresStore;
use super::config::Config;
use super::error::error;
use super::pools::Pool;
use super::read::number;
use crate::error::is_out_of_place;
use crate::{Error, GlobalPosition};

/// How the replicas of a configuration are watched. Their progress is the log of the whole server,
/// because the schemas of all namespaces share the replicas.
pub(super) fn watching(config: &Config, primary: Hosts) -> Watching {
    let sql = |function| {
        let sql = format!("SELECT ({function}() - '0/0'::pg_lsn)::bigint");
        // Safe to assert: the functions are from here.
        AssertSqlSafe(sql).into_sql_str()
    };
    Watching {
        primary,
        primary_progress: sql("pg_current_wal_lsn"),
        replica_progress: sql("pg_last_wal_replay_lsn"),
        max_lag: config.max_replica_lag,
    }
}

impl PostgresStore {
    /// Reads from a replica, or from the primary if there is none to use, or if the replica fails.
    pub(super) async fn on_reader<'a, T, F>(
        &'a self,
        read: impl Fn(&'a Pool) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let pools = self.pools()?;
        let primary = &pools.primary;
        let begun = Instant::now();
        let Some(replica) = pools.replicas.choose() else {
            return self.on_primary(primary, read).await;
        };
        let reading = async {
            match answer(replica, read(replica.readers())).await {
                Some(answer) => answer,
                None => self.on_primary(primary, read).await,
            }
        };
        primary.in_limit(begun, pin!(reading)).await
    }

    /// Reads from the primary. A server that lost the lead in a failover may still answer, and lack what
    /// the reader has handled. Then the read runs again, on a new connection.
    pub(super) async fn on_primary<'a, T, F>(
        &self,
        primary: &'a Pool,
        read: impl Fn(&'a Pool) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let begun = Instant::now();
        match read(primary).await {
            Err(refused) if is_out_of_place(&refused) => {
                primary.doubt();
                primary.in_limit(begun, pin!(read(primary))).await
            }
            answer => answer,
        }
    }

    /// Waits until reads see the message at a global position that a write has returned. Without
    /// this, reads from a replica may miss the message for a moment. Without a replica, this
    /// returns at once.
    ///
    /// If the message was deleted or never existed, this waits until the replicas have everything
    /// that was committed when the wait began. It queries the primary once and the replicas every 2
    /// ms. A replica that is not in use is not waited for: it comes back into use with the message.
    ///
    /// # Errors
    /// [`Error::Timeout`] if a replica does not catch up within [`Config::read_timeout`];
    /// [`Error::Unavailable`] or [`Error::Database`] if a server fails; [`Error::Closed`] after
    /// [`MessageStore::close`](crate::MessageStore::close).
    ///
    /// [`Config::read_timeout`]: super::Config::read_timeout
    pub async fn wait_for(&self, position: GlobalPosition) -> Result<(), Error> {
        const PAUSE: Duration = Duration::from_millis(2);
        let pools = self.pools()?;
        if pools.replicas.are_none() {
            return Ok(());
        }
        let begun = Instant::now();
        let waiting = async {
            let log_position = self.log_position(&pools.primary).await?;
            while !self.is_replayed(position, log_position).await? {
                sleep(PAUSE).await;
            }
            // A replica that comes into use from now on has the message.
            pools.replicas.require(log_position.unsigned_abs());
            Ok(())
        };
        pools.primary.in_limit(begun, pin!(waiting)).await
    }

    /// The number of replicas that reads use at this moment. The others do not answer, or lag behind
    /// the primary by more than [`Config::max_replica_lag`]. 0 if the store is closed.
    pub fn replicas_in_use(&self) -> usize {
        let Ok(pools) = self.pools() else {
            return 0;
        };
        let each = pools.replicas.each().iter();
        each.filter(|replica| replica.is_in_use()).count()
    }

    async fn log_position(&self, primary: &Pool) -> Result<i64, Error> {
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
        for replica in self.pools()?.replicas.each() {
            if !replica.is_in_use() {
                continue;
            }
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
        replica: &Replica<Pool>,
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

/// The answer of a replica. `None` if the primary should answer instead.
async fn answer<T>(
    replica: &Replica<Pool>,
    read: impl Future<Output = Result<T, Error>>,
) -> Option<Result<T, Error>> {
    match replica.answer(read).await? {
        Err(Error::Unavailable { .. }) => {
            replica.give_up();
            None
        }
        // Recovery stopped the statement, or the replica lacks the message that the reader has handled.
        // A read that the primary refuses too fails there.
        Err(Error::Database { .. }) => None,
        Err(refused) if is_out_of_place(&refused) => None,
        answer => Some(answer),
    }
}
