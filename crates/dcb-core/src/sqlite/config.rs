use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Limits, ProjectionLimit};

/// When SQLite flushes a commit to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Each commit, before it is acknowledged: an append survives the death of the machine.
    #[default]
    Full,
    /// Before the write-ahead log is moved into the file, now and then. An acknowledged append
    /// survives the death of the process; the death of the machine may take the last ones, never
    /// one in the middle, and never the file.
    Normal,
}

impl Synchronous {
    /// The pragma's number, as SQLite tells it.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Normal => 1,
            Self::Full => 2,
        }
    }
}

/// Where a log in SQLite is, and within which bounds it works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The file, made where it is missing; `None` for a log in memory. The file may hold tables of
    /// others too: the log's begin with `dcb_`.
    pub path: Option<PathBuf>,
    /// When a commit is flushed. Default: [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// How large an append may be.
    pub limits: Limits,
    /// The most appends that one commit takes. Default: 512.
    pub max_batch_requests: usize,
    /// The most bytes of events that one commit takes; one append that is larger goes alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// The most appends that wait for a commit; who comes then waits for room. Default: 8,192.
    pub max_queued_requests: usize,
    /// The most bytes of events that wait for a commit. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// How long an append may take, waiting for other processes included. Default: 5 s.
    pub append_timeout: Duration,
    /// How long a read may wait for a connection, and opening for other processes. Default: 10 s.
    pub query_timeout: Duration,
    /// The most connections that reads of a file use at once; the writer has one of its own.
    /// Default: 8.
    pub read_connections: usize,
    /// The tags of new events are indexed in memory until there are more keys than this, one for
    /// each tag and one for the event; then they go into the file's index many at once, which
    /// writes its pages more rarely. Up to a quarter more come together meanwhile. Opening a log
    /// reads the events whose keys were in memory. Default: 16,384, about 1 MB and 10 ms.
    pub keys_in_memory: usize,
    /// The most projections that run at once; more are refused. Default: 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The defaults, for the log in this file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Self {
            path: Some(path.as_ref().to_owned()),
            ..Self::memory()
        }
    }

    /// The defaults, for a log in memory that ends with its store.
    pub fn memory() -> Self {
        Self {
            path: None,
            synchronous: Synchronous::Full,
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            append_timeout: Duration::from_secs(5),
            query_timeout: Duration::from_secs(10),
            read_connections: 8,
            keys_in_memory: 16_384,
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
        }
    }

    /// With commits flushed so.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// The file's name for messages.
    pub(super) fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => ":memory:".to_owned(),
        }
    }
}
