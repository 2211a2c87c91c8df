//! Logs in files of their own for tests.

#![allow(dead_code, reason = "each test file uses its part")]

#[path = "../support/events.rs"]
pub(crate) mod events;
pub(crate) mod files;
#[path = "../support/tasks.rs"]
pub(crate) mod tasks;
#[path = "../support/wait.rs"]
pub(crate) mod wait;
#[path = "../support/workers.rs"]
pub(crate) mod workers;

use std::future::{Future as _, poll_fn};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;

use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{Append, Appended, Error, EventStore as _};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// What the tests that other backends share call a store and the way to its log.
pub(crate) type Store = SqliteStore;

/// The way to a log, and the folder that ends with it.
#[derive(Clone)]
pub(crate) struct Log {
    config: Config,
    /// `None` in a process that did not make it.
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
    /// The file that holds it.
    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone().expect("a log in a file")
    }
}

/// Where a log is, in words for another process.
pub(crate) type Address = PathBuf;

pub(crate) fn address(log: &Log) -> Address {
    log.path()
}

pub(crate) fn log_at(path: Address) -> Log {
    Log {
        config: config(path),
        _folder: None,
    }
}

/// So few keys stay in memory that the tests see them move.
fn config(path: PathBuf) -> Config {
    let mut config = Config::file(path);
    config.keys_in_memory = 16;
    config
}

/// The way to a log of its own.
pub(crate) async fn fresh_log() -> Log {
    let folder = tempfile::tempdir().expect("a folder");
    Log {
        config: config(folder.path().join("log.db")),
        _folder: Some(Arc::new(folder)),
    }
}

/// A store over this log.
pub(crate) async fn connect(log: &Log) -> Store {
    SqliteStore::open(log.config.clone())
        .await
        .expect("a store")
}

/// Begins an append, which is in the queue or in flight then.
pub(crate) async fn begin(store: &Store, append: Append) -> JoinHandle<Result<Appended, Error>> {
    let store = store.clone();
    let mut appending = Box::pin(async move { store.submit(append).await });
    let ended = poll_fn(|context| Poll::Ready(appending.as_mut().poll(context).is_ready())).await;
    assert!(!ended, "nothing held the append up");
    tokio::spawn(appending)
}
