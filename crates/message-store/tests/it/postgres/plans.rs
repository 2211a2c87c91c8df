//! The cost of reads and writes in a large table with 1,000 categories, under generic plans, with
//! and without statistics. Cost is counted in rows, not in time.

use conformance_suite::effort_up_to;
use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{
    CategoryRead, ConsumerGroup, ExpectedVersion, GlobalPosition, ListStreams, MessageStore,
    StreamRead,
};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::support::postgres::sql::Sql;
use crate::support::postgres::{category, connect, fresh_store, message, stream_name, wait_until};

/// The number of messages: from 100,000 up to a million. The limits below are the same for all.
fn message_count() -> i64 {
    effort_up_to(100_000, 1_000_000) as i64
}

/// The first position after this percentage of all messages.
fn position_at(percent: i64) -> u64 {
    (message_count() / 100 * percent).unsigned_abs()
}

const LIMIT: u64 = 10;
/// PostgreSQL makes custom plans for the first executions of a statement. Later executions use the
/// generic plan, which the tests are about.
const REPEATS: i64 = 8;

/// The table. Only one test at a time uses it, because the counters are shared.
struct LargeTable {
    database: Database,
}

impl LargeTable {
    async fn get() -> MutexGuard<'static, Self> {
        static LARGE_TABLE: OnceCell<Mutex<LargeTable>> = OnceCell::const_new();
        let table = LARGE_TABLE.get_or_init(|| async { Mutex::new(Self::load().await) });
        table.await.lock().await
    }

    /// Fills the table. Every second message is in the category `hot`, and the others are spread
    /// over the other categories.
    async fn load() -> Self {
        let (database, store) = fresh_store().await;
        store.close().await;
        let mut sql = Sql::connect(database.url()).await;
        sql.run(
            "ALTER TABLE message_store.messages SET (autovacuum_enabled = off);
             DROP INDEX message_store.messages_id, message_store.messages_stream,
                        message_store.messages_category",
        )
        .await;
        sql.run(&format!(
            "INSERT INTO message_store.messages (stream_name, position, type, data, metadata)
             SELECT CASE i % 2 WHEN 0 THEN 'hot-' || i % 100 ELSE 'cold' || i % 1000 || '-1' END,
                    CASE i % 2 WHEN 0 THEN i / 100 ELSE i / 1000 END, 'T', '{{}}',
                    CASE WHEN i % 10000 = 0 THEN '{{\"correlationStreamName\": \"rare-1\"}}'::jsonb END
               FROM generate_series(1, {}::bigint) i",
            message_count()
        ))
        .await;
        for index in ["messages_id", "messages_stream", "messages_category"] {
            let path = format!(
                "{}/schema/postgres/indexes/{index}.sql",
                env!("CARGO_MANIFEST_DIR")
            );
            sql.run(&std::fs::read_to_string(path).expect("the index"))
                .await;
        }
        Self { database }
    }

    /// Counts the rows and index entries that `work` reads.
    async fn cost(&self, work: impl AsyncFnOnce(&PostgresStore)) -> i64 {
        let mut sql = Sql::connect(self.database.url()).await;
        let before = sql.number(COUNTERS).await;
        let store = connect(Config::new(self.database.url())).await;
        work(&store).await;
        store.close().await;
        // The counters of a session are complete only when it has ended.
        wait_until("the store's sessions have ended", async || {
            let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                         AND application_name = 'message-store'";
            sql.number(open).await == 0
        })
        .await;
        sql.number(COUNTERS).await - before
    }
}

const COUNTERS: &str = "\
    SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'message_store')
         + (SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))
              FROM pg_stat_user_tables WHERE schemaname = 'message_store')";

/// Checks the cost of a call twice: when the table has no statistics, and when it has them.
async fn check(what: &str, most_rows: i64, work: impl AsyncFn(&PostgresStore)) {
    let table = LargeTable::get().await;
    let mut sql = Sql::connect(table.database.url()).await;
    for preparation in [
        "DELETE FROM pg_statistic WHERE starelid IN
           (SELECT oid FROM pg_class WHERE relnamespace = 'message_store'::regnamespace);
         UPDATE pg_class SET reltuples = -1, relpages = 0
          WHERE relnamespace = 'message_store'::regnamespace AND relkind IN ('r', 'i')",
        "ANALYZE message_store.messages",
    ] {
        sql.run(preparation).await;
        let cost = table
            .cost(async |store| {
                for _ in 0..REPEATS {
                    work(store).await;
                }
            })
            .await;
        let each = cost / REPEATS;
        assert!(each <= most_rows, "{what}: {each} rows after {preparation}");
    }
}

/// The row and the index entry of a message.
const PER_MESSAGE: i64 = 2;
/// The rows of a page of messages, plus a share of the rows that connecting reads.
const FEW: i64 = LIMIT as i64 * PER_MESSAGE + 12;

#[tokio::test(flavor = "multi_thread")]
async fn category_read_cost_is_independent_of_table_size() {
    for (name, from) in [
        ("hot", 1),
        ("hot", position_at(99)),
        ("cold7", 1),
        ("cold7", position_at(99)),
        ("none", 1),
    ] {
        check(&format!("{name} from {from}"), FEW, async |store| {
            let read = CategoryRead::new()
                .position(GlobalPosition::new(from))
                .batch_size(LIMIT);
            let page = store
                .get_category_messages(&category(name), read)
                .await
                .unwrap();
            assert!(page.len() as u64 <= LIMIT);
        })
        .await;
    }
}

/// The check of a bookmark is one search.
#[tokio::test(flavor = "multi_thread")]
async fn read_after_bookmark_costs_one_message_more() {
    let everything = category("");
    for name in ["hot", "cold7", "none", ""] {
        for percent in [1, 99] {
            let what = format!("{name} after a bookmark at {percent} %");
            check(&what, FEW + PER_MESSAGE, async |store| {
                let at = CategoryRead::new().position(GlobalPosition::new(position_at(percent)));
                let page = store.get_category_messages(&everything, at.batch_size(1));
                let handled = page.await.unwrap()[0].bookmark();
                let read = CategoryRead::new().start(handled).batch_size(LIMIT - 1);
                let page = store.get_category_messages(&category(name), read).await;
                assert!(page.unwrap().len() as u64 <= LIMIT);
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn filtered_read_cost_is_bounded_by_category() {
    check("a member of two", 10 * FEW, async |store| {
        let group = ConsumerGroup::new(0, 2).unwrap();
        let read = CategoryRead::new().batch_size(LIMIT).consumer_group(group);
        store
            .get_category_messages(&category("hot"), read)
            .await
            .unwrap();
    })
    .await;
    // The read may skip up to 1,000 messages of the category, but without leaving the index.
    check("correlation", 2200, async |store| {
        let read = CategoryRead::new()
            .batch_size(LIMIT)
            .correlation(category("rare"));
        store
            .get_category_messages(&category("cold7"), read)
            .await
            .unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_calls_cost_is_independent_of_table_size() {
    check("all messages", FEW, async |store| {
        let read = CategoryRead::new()
            .position(GlobalPosition::new(position_at(50)))
            .batch_size(LIMIT);
        store
            .get_category_messages(&category(""), read)
            .await
            .unwrap();
    })
    .await;
    check("a stream", FEW, async |store| {
        let read = StreamRead::new().batch_size(LIMIT);
        store
            .get_stream_messages(&stream_name("hot-4"), read)
            .await
            .unwrap();
    })
    .await;
    check("a version", 12, async |store| {
        store.stream_version(&stream_name("hot-4")).await.unwrap();
    })
    .await;
    check("the last message", 12, async |store| {
        store
            .get_last_stream_message(&stream_name("hot-4"), None)
            .await
            .unwrap();
    })
    .await;
    check("the head", 12, async |store| {
        store.head().await.unwrap();
    })
    .await;
    check("a page of streams", 100, async |store| {
        let list = ListStreams::new().prefix("cold").limit(LIMIT);
        assert_eq!(store.list_streams(list).await.unwrap().len() as u64, LIMIT);
    })
    .await;
    check("a write", 24, async |store| {
        let name = stream_name("cold7-1");
        let known = message(1).with_id(uuid::Uuid::now_v7());
        store
            .write_message(&name, known, ExpectedVersion::Any)
            .await
            .unwrap();
    })
    .await;
}

/// The functions of the SQL interface have their own plans.
#[tokio::test(flavor = "multi_thread")]
async fn sql_interface_read_cost_is_independent_of_table_size() {
    let table = LargeTable::get().await;
    let late = position_at(90);
    for mode in ["force_generic_plan", "force_custom_plan"] {
        for call in [
            &*format!("get_category_messages('hot', {late}, 10)"),
            &format!("get_category_messages('cold7', {late}, 10)"),
            "get_category_messages('none', 1, 10)",
            "get_stream_messages('hot-4', 10, 10)",
            "get_last_stream_message('hot-4')",
        ] {
            let mut counted = Sql::connect(table.database.url()).await;
            let before = counted.number(COUNTERS).await;
            let mut sql = Sql::connect(table.database.url()).await;
            sql.run(&format!("SET plan_cache_mode = {mode}")).await;
            for _ in 0..REPEATS {
                sql.run(&format!("SELECT * FROM message_store.{call}"))
                    .await;
            }
            let pid = sql.number("SELECT pg_backend_pid()").await;
            sql.close().await;
            let open = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}");
            wait_until("the session has ended", async || {
                counted.number(&open).await == 0
            })
            .await;
            let each = (counted.number(COUNTERS).await - before) / REPEATS;
            assert!(each <= FEW, "{mode}: {call}: {each} rows");
        }
    }
}
