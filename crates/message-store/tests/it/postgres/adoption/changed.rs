//! Functions of Message DB with bodies of somebody's own.

use message_store::MessageStore as _;
use store_meter::testing::Log;

use super::{adopt, message_db};

/// All functions of the test's Message DB have bodies that no release has, but for this one.
#[tokio::test]
async fn functions_with_changed_bodies_are_named() {
    let (database, mut sql) = message_db().await;
    sql.run(
        "CREATE OR REPLACE FUNCTION message_store.category(stream_name varchar) RETURNS varchar \
         LANGUAGE plpgsql IMMUTABLE AS $$\n\tBEGIN\r\n RETURN SPLIT_PART(category.stream_name, '-', 1);\nEND;\n$$",
    )
    .await;
    let log = Log::begin();
    adopt(&database).await.close().await;
    // A second connect finds nothing to adopt.
    adopt(&database).await.close().await;
    let message = "the adoption replaces functions that differ from those of Message DB";
    log.assert_one(
        message,
        &[
            "WARN",
            "schema=\"message_store\"",
            "functions=\"acquire_lock, cardinal_id, get_category_messages, get_last_stream_message, \
             get_stream_messages, hash_64, id, is_category, stream_version, write_message\"",
        ],
    );
}
