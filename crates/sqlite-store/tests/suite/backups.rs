//! Copies of a store that is in use.

use std::fs;
use std::path::Path;

use sqlite_store::{FileConfig, Location};
use store_fault::Fault;

use crate::Place;
use crate::store::Store;

async fn open<S: Store>(location: Location) -> S {
    let opened = S::open(FileConfig::new(location)).await;
    opened.expect("the store opens")
}

async fn assert_refused(store: &impl Store, copy: &Path) {
    let refused = store.backup(copy).await.unwrap_err();
    let is_io = refused.fault.is_none() && refused.text.contains(" failed: ");
    assert!(is_io, "{refused:?}");
}

/// A copy replaces no file, and one that can't be made leaves none.
pub(crate) async fn backup_changes_no_other_file<S: Store>(place: &Place<S>) {
    let store = place.open().await;
    store.write().await.unwrap();
    let copies = tempfile::tempdir().unwrap();
    let copy = copies.path().join("copy.db");
    let part = copies.path().join("copy.db.part");
    for other in [&copy, &part] {
        fs::write(other, "foreign content").unwrap();
    }
    assert_refused(&store, &copy).await;
    assert_refused(&store, &copies.path().join("absent").join("copy.db")).await;
    fs::remove_file(&copy).unwrap();
    store.backup(&copy).await.unwrap();
    assert_refused(&store, &copy).await;
    assert_eq!(fs::read(&part).unwrap(), b"foreign content");
    assert_eq!(fs::read_dir(copies.path()).unwrap().count(), 2);
    store.clone().close().await;
    let closed = store.backup(&copies.path().join("late.db")).await;
    let fault = closed.unwrap_err().fault;
    assert!(matches!(fault, Some(Fault::Closed)), "{fault:?}");
}

/// The connection that made the copy goes back to those for reads, which refuse to write.
pub(crate) async fn store_is_used_after_its_backup<S: Store>(place: &Place<S>) {
    for (location, name) in [
        (Location::File(place.path()), "of file"),
        (Location::Memory, "of memory"),
    ] {
        let store: S = open(location).await;
        store.write().await.unwrap();
        let copy = place.folder.path().join(name);
        store.backup(&copy).await.unwrap();
        store.write().await.unwrap();
        assert_eq!(store.count().await.unwrap(), 2);
        store.close().await;
        let copied: S = open(Location::File(copy)).await;
        assert_eq!(copied.count().await.unwrap(), 1);
        copied.write().await.unwrap();
        copied.close().await;
    }
}
