//! Logs in files.

pub(crate) mod files;
pub(crate) mod temporary;

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

use dcb_core::sqlite::{Config, Location, SqliteStore};
use tempfile::TempDir;

/// Settings for a log. The log's folder is removed with the last clone.
#[derive(Clone)]
pub(crate) struct Log {
    config: Config,
    /// `None` in a worker process, which does not own the folder.
    _folder: Option<Arc<TempDir>>,
}

impl Deref for Log {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl DerefMut for Log {
    fn deref_mut(&mut self) -> &mut Config {
        &mut self.config
    }
}

impl Log {
    /// The log's file.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.location {
            Location::File(path) => path.clone(),
            Location::Memory => panic!("the log is in memory"),
        }
    }
}

/// Settings for a log that another process created.
pub(crate) fn log_at(path: PathBuf) -> Log {
    Log {
        config: config(path),
        _folder: None,
    }
}

/// Keeps few keys in memory, so that keys move into the index during the tests.
fn config(path: PathBuf) -> Config {
    let mut config = Config::file(path);
    config.keys_in_memory = 16;
    config
}

/// Settings for a new log.
pub(crate) async fn fresh_log() -> Log {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Log {
        config: config(folder.path().join("log.db")),
        _folder: Some(Arc::new(folder)),
    }
}

/// Opens a store over this log.
pub(crate) async fn connect(log: &Log) -> SqliteStore {
    SqliteStore::open(log.config.clone())
        .await
        .expect("the store opens")
}
