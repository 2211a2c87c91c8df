use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use message_conformance::Json;
use message_store::sqlite::{Config, SqliteStore};

/// A new folder for each store. A store of the suite may outlive its test, so the folders are
/// deleted by the next run.
fn fresh_folder() -> PathBuf {
    static CLEAR: Once = Once::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder_of_all = Path::new(env!("CARGO_TARGET_TMPDIR")).join("message-store-suite");
    CLEAR.call_once(|| {
        let _ = fs::remove_dir_all(&folder_of_all);
    });
    let folder = folder_of_all.join(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
    fs::create_dir_all(&folder).unwrap();
    folder
}

async fn store() -> SqliteStore {
    let path = fresh_folder().join("messages.sqlite");
    SqliteStore::open(Config::file(path)).await.unwrap()
}

message_conformance::suite!(store, Json::Bytes);
