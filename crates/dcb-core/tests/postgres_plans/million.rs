//! A log of a million events, and what reading it costs.

use std::ops::Sub;

use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::{Durability, LocalPostgres};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::support::sql::Sql;
use crate::support::wait::wait_until;
use crate::support::{connect, log_on, server_of_its_own};

/// How many events were loaded.
pub(crate) const EVENTS: u64 = 1_000_000;
/// A tag of every tenth event, of all three types.
pub(crate) const HOT: &str = "hot";
/// A tag of ten events, none of them with [`HOT`].
pub(crate) const COLD: &str = "cold:7";
/// A tag of ten events, all of them with [`HOT`].
pub(crate) const COLD_AND_HOT: &str = "cold:10";
/// The type of every third event.
pub(crate) const TYPE: &str = "Type1";

/// The log, for one test at a time: they all look at the same counters.
pub(crate) struct Million {
    // Dropped last, with the process.
    _server: LocalPostgres,
    log: Config,
}

/// What the server did for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Index entries returned and rows fetched, of the log's tables.
    pub(crate) rows: i64,
    /// Blocks of the log's tables and indexes, in the cache or not.
    pub(crate) blocks: i64,
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            rows: self.rows - other.rows,
            blocks: self.blocks - other.blocks,
        }
    }
}

impl Million {
    pub(crate) async fn get() -> MutexGuard<'static, Self> {
        static MILLION: OnceCell<Mutex<Million>> = OnceCell::const_new();
        let million = MILLION.get_or_init(|| async { Mutex::new(Self::load().await) });
        million.await.lock().await
    }

    async fn load() -> Self {
        let settings = [
            ("autovacuum", "off"),
            ("shared_buffers", "512MB"),
            ("max_wal_size", "8GB"),
        ];
        let server = server_of_its_own(Durability::Relaxed, &settings).await;
        let log = log_on(server.url());
        connect(&log).await.close().await;
        let mut sql = Sql::connect(&log.url).await;
        let schema = &log.schema;
        sql.run(&format!(
            "INSERT INTO {schema}.event (position, recorded_at, id, type, tags, data) \
             SELECT i, now(), gen_random_uuid(), 'Type' || i % 3, \
                    ARRAY['cold:' || i * 7919 % 100000] \
                      || CASE i % 10 WHEN 0 THEN '{{{HOT}}}' ELSE '{{}}'::text[] END, \
                    convert_to(repeat('x', 100), 'UTF8') \
               FROM generate_series(1, {EVENTS}::bigint) i; \
             INSERT INTO {schema}.event_tag (key, position) \
             SELECT {schema}.tag_key(tag, type), position FROM {schema}.event, unnest(tags) tag \
              ORDER BY 1, 2"
        ))
        .await;
        sql.close().await;
        Self {
            _server: server,
            log,
        }
    }

    /// Leaves the planner without knowledge of the tables, as it is of a young log.
    pub(crate) async fn forget_statistics(&self) {
        let mut sql = Sql::connect(&self.log.url).await;
        let schema = &self.log.schema;
        sql.run(&format!(
            "DELETE FROM pg_statistic WHERE starelid IN \
               (SELECT oid FROM pg_class WHERE relnamespace = '{schema}'::regnamespace); \
             UPDATE pg_class SET reltuples = -1, relpages = 0 \
              WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'i')"
        ))
        .await;
        sql.close().await;
    }

    /// Lets the planner know the tables, as autovacuum does after a while.
    pub(crate) async fn analyze(&self) {
        let mut sql = Sql::connect(&self.log.url).await;
        let schema = &self.log.schema;
        sql.run(&format!(
            "ANALYZE {schema}.event, {schema}.event_tag, {schema}.tracking"
        ))
        .await;
        sql.close().await;
    }

    /// What `work` costs with a store of its own.
    pub(crate) async fn cost(&self, work: impl AsyncFnOnce(&PostgresStore)) -> Cost {
        let mut sql = Sql::connect(&self.log.url).await;
        let before = counters(&mut sql, &self.log.schema).await;
        let store = connect(&self.log).await;
        work(&store).await;
        store.close().await;
        // A session's counters are complete when it has ended.
        wait_until("the store's sessions have ended", async || {
            let open = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dcb-core'";
            sql.number(open).await == 0
        })
        .await;
        let after = counters(&mut sql, &self.log.schema).await;
        sql.close().await;
        after - before
    }
}

/// What was read of the tables in this schema since the server's start.
pub(crate) async fn counters(sql: &mut Sql, schema: &str) -> Cost {
    let rows = format!(
        "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = '{schema}') \
                  + (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) \
                       FROM pg_stat_user_tables WHERE schemaname = '{schema}')"
    );
    let blocks = format!(
        "SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)) \
               FROM pg_statio_user_tables WHERE schemaname = '{schema}'"
    );
    Cost {
        rows: sql.number(&rows).await,
        blocks: sql.number(&blocks).await,
    }
}
