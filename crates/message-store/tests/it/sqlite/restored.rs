//! A file that is put back from a backup. Positions that readers keep lead to other messages, or to
//! none.

use std::fs;
use std::path::Path;

use message_store::sqlite::{BlockingSqliteStore, SqliteStore};
use message_store::{Bookmark, Error, GlobalPosition, MessageStore as _};
use rusqlite::Connection;
use uuid::Uuid;

use crate::support::place::{
    ACCOUNT, KEPT, LOST, assert_goes_on, assert_refused, followers, write_numbers,
};
use crate::support::sqlite::open;
use crate::support::whole_stream;

/// Puts a backup in the place of a store's files, as the README tells.
fn put_back(copy: &Path, path: &Path) {
    for end in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(end);
        let _ = fs::remove_file(beside);
    }
    fs::remove_file(path).unwrap();
    fs::copy(copy, path).unwrap();
}

#[tokio::test]
async fn every_place_notices_a_file_put_back_from_a_backup() {
    for grown in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (
            folder.path().join("messages.sqlite"),
            folder.path().join("copy.sqlite"),
        );
        let store = SqliteStore::from(open(&path));
        write_numbers(&store, 0..KEPT).await;
        store.backup(&copy).await.unwrap();
        write_numbers(&store, KEPT..KEPT + LOST).await;
        followers(&store).await;
        let last = whole_stream(&store, ACCOUNT).await.pop().unwrap();
        store.close().await;
        put_back(&copy, &path);

        let store = SqliteStore::from(open(&path));
        let head = KEPT + if grown { LOST + 1 } else { LOST - 1 };
        write_numbers(&store, 100..100 + head - KEPT).await;
        assert_refused(&store, &last, |error| match error {
            Error::PastReplaced { position } => grown && position.get() == KEPT + LOST,
            Error::AfterBeyondHead {
                after,
                head: Some(at),
            } => !grown && after.get() == KEPT + LOST && at.get() == head,
            _ => false,
        })
        .await;
        assert_goes_on(&store, 100).await;
        store.close().await;
    }
}

/// A file of version 1 has checkpoints without ids.
#[tokio::test]
async fn checkpoint_of_version_1_gets_an_id_when_it_advances() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.sqlite");
    open(&path).close();
    let first = include_str!("../../../schema/sqlite/versions/1/checkpoints.sql");
    let downgrade = format!(
        "DROP TABLE checkpoints; {first};
         INSERT INTO checkpoints VALUES ('mailer', 7), ('other', 9);
         PRAGMA user_version = 1;"
    );
    Connection::open(&path)
        .unwrap()
        .execute_batch(&downgrade)
        .unwrap();
    let store = open(&path);
    let plain = |store: &BlockingSqliteStore, consumer| store.checkpoint(consumer).unwrap();
    let seven = Bookmark::from(GlobalPosition::new(7));
    assert_eq!(plain(&store, "mailer"), Some(seven));
    let next = Bookmark::new(GlobalPosition::new(8), Uuid::from_u128(1));
    store.save_checkpoint("mailer", next).unwrap();
    assert_eq!(plain(&store, "mailer"), Some(next));
    store.close();
    let store = open(&path);
    assert_eq!(plain(&store, "mailer"), Some(next));
    // A process of version 1 leaves the bookmark of the position before.
    let older = "INSERT INTO checkpoints (consumer, position) VALUES ('mailer', 9) \
                 ON CONFLICT (consumer) DO UPDATE SET position = max(position, excluded.position)";
    Connection::open(&path).unwrap().execute(older, []).unwrap();
    let nine = Bookmark::from(GlobalPosition::new(9));
    assert_eq!(plain(&store, "mailer"), Some(nine));
    assert_eq!(plain(&store, "other"), Some(nine));
}

/// The check of a place costs no further read.
#[tokio::test]
async fn checked_page_is_one_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::from(open(&folder.path().join("messages.sqlite")));
    write_numbers(&store, 0..KEPT + LOST).await;
    let mut followers = followers(&store).await;
    let before = store.stats().reads;
    for follower in &mut followers {
        assert!(follower.try_next().await.unwrap().is_none());
    }
    assert_eq!(store.stats().reads - before, followers.len() as u64);
}
