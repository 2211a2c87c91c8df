use dcb_core::AnyStore;
use local_postgres::{Database, shared};
use tempfile::TempDir;

/// An empty log. A drop removes it.
pub(crate) struct Log {
    pub(crate) store: AnyStore,
    _folder: Option<TempDir>,
    _database: Option<Database>,
}

impl Log {
    pub(crate) async fn memory() -> Self {
        Self {
            store: AnyStore::open("memory:").await.unwrap(),
            _folder: None,
            _database: None,
        }
    }

    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("events.db");
        Self {
            store: AnyStore::open(file.to_str().unwrap()).await.unwrap(),
            _folder: Some(folder),
            _database: None,
        }
    }

    pub(crate) async fn postgres() -> Self {
        let server = shared().await.unwrap();
        let database = server.create_database("grpc").await.unwrap();
        Self {
            store: AnyStore::open(database.url()).await.unwrap(),
            _folder: None,
            _database: Some(database),
        }
    }
}
