//! The work of an adoption.

use message_store::MessageStore as _;

use super::{adopt, message_db};
use crate::support::postgres::wait_until;

/// An adoption reads each message once for each index that it builds, and writes none.
#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_read_as_often_in_a_large_store_as_in_a_small_one() {
    for stored in [100, 20_000] {
        let (database, mut sql) = message_db().await;
        sql.run(&format!(
            "INSERT INTO message_store.messages (position, stream_name, type, data) \
             SELECT 0, 'old-' || n, 'Old', '{{}}' FROM generate_series(1, {stored}) n; \
             SELECT pg_stat_reset_single_table_counters('message_store.messages'::regclass)"
        ))
        .await;
        adopt(&database).await.close().await;
        let count = |counted: &str| {
            format!(
                "SELECT {counted} FROM pg_stat_user_tables \
                  WHERE relid = 'message_store.messages'::regclass"
            )
        };
        // The server adds up the work of a session when the session ends.
        wait_until("the work is counted", async || {
            sql.number(&count("seq_scan")).await > 0
        })
        .await;
        assert_eq!(sql.number(&count("seq_scan")).await, 2);
        assert_eq!(sql.number(&count("seq_tup_read")).await, 2 * stored);
        let written = count("n_tup_ins + n_tup_upd + n_tup_del");
        assert_eq!(sql.number(&written).await, 0);
    }
}
