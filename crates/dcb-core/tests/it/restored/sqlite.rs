//! An SQLite file that was put back from a copy while no process had it open.

use std::fs;

use dcb_core::sqlite::{Config, Handler, SqliteReadModel, SqliteStore, Transaction};
use dcb_core::{
    Bookmark, EventStore as _, HandlerError, ProjectionRunner, ReadModel as _, ReadOptions,
    SequencedEvent, SubscribeOptions,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{KEPT, LOST, assert_replaced, numbered, saved};
use crate::support::events::{at, tag, unless, whole_log};

struct Nothing;

impl Handler for Nothing {
    fn handle(&mut self, _: &Transaction<'_>, _: &[SequencedEvent]) -> Result<(), HandlerError> {
        Ok(())
    }

    fn reset(&mut self, _: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

async fn open(folder: &TempDir) -> SqliteStore {
    let config = Config::file(folder.path().join("log.db"));
    SqliteStore::open(config).await.unwrap()
}

async fn append(store: &SqliteStore, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        store.append(numbered("a", number)).await.unwrap();
    }
}

fn runner(
    folder: &TempDir,
    store: &SqliteStore,
    file: &str,
) -> ProjectionRunner<SqliteStore, SqliteReadModel<Nothing>> {
    let config = Config::file(folder.path().join(file));
    let model = SqliteReadModel::new(config, "nothing", Nothing).unwrap();
    ProjectionRunner::new(store.clone(), tag("a"), model)
}

/// The bookmark of the lost head, after the copy was put back and has grown past it.
async fn put_back(folder: &TempDir) -> (SqliteStore, Bookmark) {
    let store = open(folder).await;
    append(&store, 1..=KEPT).await;
    store.backup(folder.path().join("copy.db")).await.unwrap();
    append(&store, KEPT + 1..=LOST).await;
    runner(folder, &store, "model.db").catch_up().await.unwrap();
    let read = store.query(&tag("a"), ReadOptions::new()).await.unwrap();
    store.close().await;
    fs::copy(folder.path().join("copy.db"), folder.path().join("log.db")).unwrap();
    let store = open(folder).await;
    append(&store, 107..=112).await;
    (store, saved(read.head.unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn file_put_back_from_a_copy_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, lost) = put_back(&folder).await;
    let refused = store
        .append_if(numbered("a", 999), unless("b").after(lost))
        .await;
    assert_replaced(refused, LOST);
    let blocking = store.blocking();
    let after = ReadOptions::new().after(lost);
    assert_replaced(blocking.query(&tag("a"), after), LOST);
    assert_replaced(blocking.query_stream(&tag("a"), after).map(drop), LOST);
    let counter = dcb_core::Projector::counter(tag("a"));
    assert_replaced(blocking.project_after(&counter, lost).map(drop), LOST);
    let mut events = store.subscribe(tag("a"), lost, SubscribeOptions::new());
    assert_replaced(events.next().await.unwrap(), LOST);
    assert_eq!(whole_log(&store).await.len(), 12);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn read_model_in_another_file_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (store, lost) = put_back(&folder).await;
    let mut runner = runner(&folder, &store, "model.db");
    assert_replaced(runner.catch_up().await, lost.position.get());
    assert_eq!(runner.rebuild().await.unwrap(), Some(at(12)));
    store.close().await;
}

/// A table of an older version has no column for the bookmark. A program of the older version, still
/// running beside this one, moves the position alone.
#[tokio::test(flavor = "multi_thread")]
async fn checkpoint_of_an_older_version_is_upgraded() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    append(&store, 1..=LOST).await;
    let file = Connection::open(folder.path().join("model.db")).unwrap();
    file.execute_batch(
        "CREATE TABLE dcb_checkpoint (name TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL) \
         STRICT, WITHOUT ROWID; INSERT INTO dcb_checkpoint VALUES ('nothing', 3)",
    )
    .unwrap();
    runner(&folder, &store, "model.db")
        .catch_up()
        .await
        .unwrap();
    let stored = || {
        let select = "SELECT position, bookmark FROM dcb_checkpoint";
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        file.query_row::<(i64, String), _, _>(select, [], row)
            .unwrap()
    };
    let last = whole_log(&store).await.pop().unwrap().bookmark();
    assert_eq!(stored(), (LOST as i64, last.to_string()));
    file.execute("UPDATE dcb_checkpoint SET position = 9", [])
        .unwrap();
    let config = Config::file(folder.path().join("model.db"));
    let mut model = SqliteReadModel::new(config, "nothing", Nothing).unwrap();
    assert_eq!(model.checkpoint().await.unwrap(), Some(at(9).into()));
    runner(&folder, &store, "model.db")
        .catch_up()
        .await
        .unwrap();
    assert_eq!(stored(), (LOST as i64, last.to_string()));
    store.close().await;
}
