//! The work of an adoption.

use message_store::MessageStore as _;

use super::{adopt, message_db};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::wait_until;

/// How often the table was read from start to end, the rows of these reads, and the rows written.
async fn work(sql: &mut Sql) -> [i64; 3] {
    let counted = "SELECT seq_scan, seq_tup_read, n_tup_ins + n_tup_upd + n_tup_del \
          FROM pg_stat_user_tables WHERE relid = 'message_store.messages'::regclass";
    let row = sql.rows(counted).await.remove(0);
    [0, 1, 2].map(|column: usize| row[column].parse().expect("a number"))
}

/// An adoption reads each message once for each index that it builds, and writes none.
#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_read_as_often_in_a_large_store_as_in_a_small_one() {
    for stored in [100, 20_000] {
        let (database, mut sql) = message_db().await;
        sql.run(&format!(
            "INSERT INTO message_store.messages (position, stream_name, type, data) \
             SELECT 0, 'old-' || n, 'Old', '{{}}' FROM generate_series(1, {stored}) n"
        ))
        .await;
        // The server adds up the work of a session some time after its statements.
        wait_until("the messages are counted", async || {
            work(&mut sql).await[2] == stored
        })
        .await;
        let before = work(&mut sql).await;
        adopt(&database).await.close().await;
        wait_until("the adoption is counted", async || {
            work(&mut sql).await != before
        })
        .await;
        let after = work(&mut sql).await;
        let done = [0, 1, 2].map(|column: usize| after[column] - before[column]);
        assert_eq!(done, [2, 2 * stored, 0]);
    }
}
