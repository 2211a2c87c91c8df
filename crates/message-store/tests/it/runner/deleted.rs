use std::time::Duration;

use message_store::sqlite::{Config, SqliteStore};
use message_store::{MessageRunner, MessageStore as _, RecordedMessage};
use rusqlite::Connection;
use tokio::time::timeout;

use super::support::{Seen, quick, write_numbers};
use crate::support::category;

/// Someone deletes the last message with SQL, while a run up to this message is under way.
#[tokio::test(flavor = "multi_thread")]
async fn run_up_to_a_message_that_is_deleted_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    let store = SqliteStore::open(Config::file(&path)).await.unwrap();
    write_numbers(&store, 0..3).await;
    let seen = Seen::default();
    let handler = |message: RecordedMessage| {
        seen.note(&message);
        let other = Connection::open(&path).unwrap();
        let delete = "DELETE FROM messages WHERE global_position = 3";
        other.execute(delete, []).unwrap();
        async { Ok(()) }
    };
    let runner = MessageRunner::new(store.clone(), "c", category("a"), handler);
    let mut runner = runner.unwrap().options(quick().batch_size(1));
    let run = timeout(Duration::from_secs(60), runner.catch_up()).await;
    run.expect("the run ends").unwrap();
    assert_eq!(seen.numbers(), [0, 1]);
    store.close().await;
}
