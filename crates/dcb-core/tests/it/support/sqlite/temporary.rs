//! A store that removes its own file, for factories of the conformance suite.

use dcb_core::EventStore;
use dcb_core::sqlite::{Config, SqliteStore};
use tempfile::TempDir;

/// A store over a temporary file. The file is removed with the value.
pub(crate) struct TemporaryStore {
    store: SqliteStore,
    _folder: TempDir,
}

impl TemporaryStore {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::over(Config::file(folder.path().join("log.db")), folder).await
    }

    pub(crate) async fn with_keys_in_memory(keys: usize) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut config = Config::file(folder.path().join("log.db"));
        config.keys_in_memory = keys;
        Self::over(config, folder).await
    }

    async fn over(config: Config, folder: TempDir) -> Self {
        Self {
            store: SqliteStore::open(config).await.expect("the store opens"),
            _folder: folder,
        }
    }
}

impl EventStore for TemporaryStore {
    dcb_core::forward_event_store! { self { Self { store, .. } => store } }
}
