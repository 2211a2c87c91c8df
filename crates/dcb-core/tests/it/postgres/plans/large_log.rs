//! A large log, and the cost of calls on it.

use std::ops::Sub;

use conformance_suite::effort_up_to;
use dcb_core::EventStore as _;
use dcb_core::postgres::{Config, PostgresStore};
use local_postgres::{Durability, LocalPostgres};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, log_on, private_server};
use crate::support::wait::wait_until;

/// The number of loaded events: from 100,000 up to a million.
pub(crate) fn event_count() -> u64 {
    effort_up_to(100_000, 1_000_000) as u64
}

/// A tag of every tenth event, with all three types.
pub(crate) const HOT: &str = "hot";
/// A tag of ten events without [`HOT`].
pub(crate) const COLD: &str = "cold:7";
/// A tag of ten events, all with [`HOT`].
pub(crate) const COLD_AND_HOT: &str = "cold:10";
/// The type of every third event.
pub(crate) const TYPE: &str = "Type1";

/// The log. One test uses it at a time, because the tests read the same counters.
pub(crate) struct LargeLog {
    // The log lives in a `static`, so its server runs until the process ends.
    _server: LocalPostgres,
    log: Config,
}

/// The work of the server for some calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Index entries and rows read from the log's tables.
    pub(crate) rows: i64,
    /// Blocks read from the log's tables and indexes, cached or not.
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

impl LargeLog {
    pub(crate) async fn get() -> MutexGuard<'static, Self> {
        static LOG: OnceCell<Mutex<LargeLog>> = OnceCell::const_new();
        let log = LOG.get_or_init(|| async { Mutex::new(Self::load().await) });
        log.await.lock().await
    }

    async fn load() -> Self {
        let settings = [
            ("autovacuum", "off"),
            ("shared_buffers", "512MB"),
            ("max_wal_size", "8GB"),
        ];
        let server = private_server(Durability::Relaxed, &settings).await;
        let log = log_on(server.url());
        connect(&log).await.close().await;
        let events = event_count();
        let cold_tags = events / 10;
        let mut sql = Sql::connect(&log.url).await;
        let schema = &log.schema;
        sql.run(&format!(
            "INSERT INTO {schema}.event (position, recorded_at, id, type, tags, data) \
             SELECT i, now(), gen_random_uuid(), 'Type' || i % 3, \
                    ARRAY['cold:' || i * 7919 % {cold_tags}] \
                      || CASE i % 10 WHEN 0 THEN '{{{HOT}}}' ELSE '{{}}'::text[] END, \
                    convert_to(repeat('x', 100), 'UTF8') \
               FROM generate_series(1, {events}::bigint) i; \
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

    /// Removes the statistics of the tables, which a young log does not have yet.
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

    /// Updates the statistics of the tables, as autovacuum does after a while.
    pub(crate) async fn analyze(&self) {
        let mut sql = Sql::connect(&self.log.url).await;
        let schema = &self.log.schema;
        sql.run(&format!(
            "ANALYZE {schema}.event, {schema}.event_tag, {schema}.tracking"
        ))
        .await;
        sql.close().await;
    }

    /// The cost of `work` on a new store.
    pub(crate) async fn cost(&self, work: impl AsyncFnOnce(&PostgresStore)) -> Cost {
        let mut sql = Sql::connect(&self.log.url).await;
        let before = counters(&mut sql, &self.log.schema).await;
        let store = connect(&self.log).await;
        work(&store).await;
        store.close().await;
        // A session's counters are complete only after it has ended.
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

/// The cost of all calls on the tables of this schema since the server started.
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
