//! A file that people move, remove or replace while a store has it open.

use std::fs;
use std::path::Path;

use sqlite_store::{FileConfig, Location};
use store_fault::Fault;

use crate::Place;
use crate::store::{Answer, Failed, Store};

fn assert_moved<T: std::fmt::Debug>(called: &Answer<T>) {
    assert!(
        matches!(
            called,
            Err(Failed {
                fault: Some(Fault::FileMoved { .. }),
                is_transient: false,
                ..
            })
        ),
        "{called:?}"
    );
}

async fn assert_notices(store: &impl Store) {
    assert_moved(&store.write().await);
    assert_moved(&store.write_blocking());
    assert_moved(&store.delete().await);
    assert_moved(&store.health().await);
}

/// SQLite goes on writing to the file without a name. Writes were acknowledged, and gone when the
/// store was opened again.
pub(crate) async fn removed_file_is_noticed<S: Store>(place: &Place<S>) {
    let store = place.open().await;
    store.write().await.unwrap();
    fs::remove_file(place.path()).unwrap();
    assert_notices(&store).await;
    // No connection was open for reads, and a new one must not create the file.
    assert_moved(&store.count().await);
    assert!(!place.path().exists());
    store.close().await;
}

/// A copy has other contents than the write-ahead log beside it, so nothing may be written to it.
pub(crate) async fn replaced_file_is_noticed<S: Store>(place: &Place<S>) {
    let store = place.open().await;
    store.write().await.unwrap();
    let copy = place.path().with_extension("copy");
    fs::copy(place.path(), &copy).unwrap();
    fs::rename(&copy, place.path()).unwrap();
    assert_notices(&store).await;
    store.close().await;
}

fn rename(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let name = |path: &Path| format!("{}{suffix}", path.display());
        fs::rename(name(from), name(to)).unwrap();
    }
}

/// The moved file keeps what was acknowledged, and nothing else. Once it is back, the store goes on.
pub(crate) async fn moved_file_is_noticed_and_keeps_what_was_acknowledged<S: Store>(
    place: &Place<S>,
) {
    let store = place.open().await;
    store.write().await.unwrap();
    let moved = place.path().with_extension("moved");
    rename(&place.path(), &moved);
    assert_notices(&store).await;
    rename(&moved, &place.path());
    store.write().await.unwrap();
    assert_eq!(store.count().await.unwrap(), 2);
    store.close().await;
    fs::rename(place.path(), &moved).unwrap();
    let store = S::open(FileConfig::new(Location::File(moved))).await;
    let store = store.unwrap();
    assert_eq!(store.count().await.unwrap(), 2);
    store.close().await;
}
