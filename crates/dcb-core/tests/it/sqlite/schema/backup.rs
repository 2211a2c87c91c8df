//! Copies of a log that is in use.

use std::fs;

use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{Error, EventStore as _, Fault};

use crate::support::events::{head, read, tag, tagged, whole_log};
use crate::support::sqlite::files::foreign;
use crate::support::sqlite::{connect, fresh_log, log_at};

#[tokio::test(flavor = "multi_thread")]
async fn backup_during_appends_is_consistent() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let own = foreign(&log);
    own.execute_batch("CREATE TABLE own (n); INSERT INTO own VALUES (7)")
        .unwrap();
    let appends = store.clone();
    let appends = tokio::spawn(async move {
        for _ in 0..200 {
            appends.append(tagged("a")).await.unwrap();
        }
    });
    while head(&store).await < 40 {
        tokio::task::yield_now().await;
    }
    let path = log.path().with_extension("copy");
    store.backup(&path).await.unwrap();
    appends.await.unwrap();
    let copy = log_at(path);
    let opened = connect(&copy).await;
    let copied = whole_log(&opened).await;
    assert!(copied.len() >= 40, "{}", copied.len());
    assert_eq!(copied, whole_log(&store).await[..copied.len()]);
    assert_eq!(read(&opened, &tag("a")).await.len(), copied.len());
    let number: i64 = foreign(&copy)
        .query_row("SELECT n FROM own", [], |row| row.get(0))
        .unwrap();
    assert_eq!(number, 7);
    opened.append(tagged("b")).await.unwrap();
    opened.close().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_never_replaces_a_file() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(tagged("a")).await.unwrap();
    let copy = log.path().with_extension("copy");
    fs::write(&copy, "foreign content").unwrap();
    let refused = store.backup(&copy).await;
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(fs::read(&copy).unwrap(), b"foreign content");
    let refused = store.backup(log.path().join("absent")).await;
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    store.close().await;
    let names = fs::read_dir(log.path().parent().unwrap()).unwrap();
    assert_eq!(names.count(), 2, "only the log and the other file");
    let refused = store.backup(log.path().with_extension("late")).await;
    assert!(
        matches!(refused, Err(Error::Fault(Fault::Closed))),
        "{refused:?}"
    );
}

/// The connection that made the copy goes back to those for reads, which refuse to write.
#[tokio::test(flavor = "multi_thread")]
async fn log_is_used_after_its_backup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let in_file = SqliteStore::open(Config::file(path)).await.unwrap();
    let in_memory = SqliteStore::open(Config::memory()).await.unwrap();
    for (store, name) in [(in_file, "of file"), (in_memory, "of memory")] {
        store.append(tagged("a")).await.unwrap();
        let copy = folder.path().join(name);
        store.backup(&copy).await.unwrap();
        let copied = SqliteStore::open(Config::file(&copy)).await.unwrap();
        assert_eq!(whole_log(&copied).await, whole_log(&store).await);
        store.append(tagged("a")).await.unwrap();
        assert_eq!(whole_log(&store).await.len(), 2);
        store.close().await;
        copied.close().await;
    }
}
