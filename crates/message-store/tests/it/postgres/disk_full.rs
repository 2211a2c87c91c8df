//! A server whose disk is full.

use message_store::{Error, ExpectedVersion, Fault, MessageStore as _};

use crate::support::messages;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{fresh_store, message, stream_name, whole_stream, write};

fn assert_full<T: std::fmt::Debug>(answer: Result<T, Error>) {
    let Err(full @ Error::Fault(Fault::DiskFull(_))) = answer else {
        panic!("{answer:?}");
    };
    assert!(full.is_transient());
}

/// The error was `Database`, unlike SQLite's.
#[tokio::test]
async fn full_disk_is_told_and_nothing_is_written() {
    let (database, store) = fresh_store().await;
    write(&store, "a-1", 0).await;
    let mut sql = Sql::connect(database.url()).await;
    sql.run(
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$; \
         CREATE TRIGGER fill BEFORE INSERT ON message_store.messages FOR EACH ROW \
         EXECUTE FUNCTION fill()",
    )
    .await;
    let (stream, any) = (stream_name("a-1"), ExpectedVersion::Any);
    assert_full(store.write_message(&stream, message(1), any).await);
    assert_full(store.write_batch(&stream, messages(3), any).await);
    assert_eq!(whole_stream(&store, "a-1").await.len(), 1);
    sql.run("DROP TRIGGER fill ON message_store.messages").await;
    let written = store.write_message(&stream, message(1), any).await;
    assert_eq!(written.unwrap().position.get(), 1);
    store.close().await;
}
