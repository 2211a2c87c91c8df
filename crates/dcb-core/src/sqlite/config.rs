use std::path::PathBuf;
use std::time::Duration;

use crate::{Limits, Metrics, ProjectionLimit};

/// The time at which SQLite flushes commits to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// At each commit, before it is acknowledged. An acknowledged append survives a power failure.
    #[default]
    Full,
    /// Only at checkpoints of the write-ahead log. An acknowledged append survives a crash of the
    /// process. A power failure may lose the last appends, but it leaves no gaps and does not corrupt
    /// the file.
    Normal,
}

impl Durability {
    /// The numeric value of the pragma.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::Normal => 1,
            Self::Full => 2,
        }
    }
}

/// The storage of a log: memory or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In memory, until the store is dropped.
    Memory,
    /// In this file, created if it does not exist. It may also contain your own tables, because the
    /// names of the log's tables start with `dcb_`. Open it with the same SQLite library as this crate:
    /// if a process has the file open with two libraries, either one drops the locks of the other.
    File(PathBuf),
}

/// The location and the limits of a log in SQLite.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The storage of the log: memory or a file.
    pub location: Location,
    /// Whether the file is opened only for reads, for example an archive or a backup on a read-only
    /// mount. Nothing is installed or upgraded, and appends fail with
    /// [`Fault::ReadOnlyFile`](crate::Fault). Default: off.
    ///
    /// Reads see what other processes append. But if the file and its folder can't be written and no
    /// process has the log open, SQLite opens the file as immutable: it takes no locks and does not
    /// notice changes. Let no program write to the file from another mount meanwhile, because reads
    /// would then return wrong events or fail.
    ///
    /// [`Fault::ReadOnlyFile`]: crate::Fault::ReadOnlyFile
    pub read_only: bool,
    /// When commits are flushed. Default: [`Durability::Full`].
    pub durability: Durability,
    /// The size limits of an append.
    pub limits: Limits,
    /// Maximum number of appends per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum size of the events of a commit, in bytes. A larger append is committed alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued appends. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum size of the queued events, in bytes. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Time limit of an append, including the wait for other processes. Default: 5 s.
    pub write_timeout: Duration,
    /// Time limit for a read to get a connection, and for opening the log while other processes lock
    /// the file. Default: 10 s.
    pub read_timeout: Duration,
    /// Maximum number of read connections of a file. The writer's connection is not included.
    /// Default: 8.
    pub read_connections: u32,
    /// Maximum number of index keys in memory before they move to the index in the file. An event
    /// with two tags has three keys: one for each tag, and one for searches by type. Moving many
    /// keys together writes each index page less often. During the move, up to a quarter more keys
    /// accumulate. Opening a log reads the events whose keys are not in the file. Default: 16,384
    /// keys, which take about 1 MB of memory and 10 ms to read.
    pub keys_in_memory: usize,
    /// Maximum number of concurrent projections. Excess calls fail. Default: 100.
    pub max_concurrent_projections: usize,
}

impl Config {
    /// The default configuration for a log in this file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            location: Location::File(path.into()),
            ..Self::memory()
        }
    }

    /// The default configuration for a log in memory, which is lost when its store is dropped.
    pub fn memory() -> Self {
        Self {
            location: Location::Memory,
            read_only: false,
            durability: Durability::Full,
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            read_connections: 8,
            keys_in_memory: 16_384,
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
        }
    }

    /// Opens the file only for reads. See [`Config::read_only`](Self#structfield.read_only).
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets when commits are flushed.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The handles of the log's metrics.
    pub(super) fn metrics(&self) -> Metrics {
        let file = match &self.location {
            Location::File(path) => path.file_name(),
            Location::Memory => None,
        };
        let name = file.map_or("memory".into(), |name| name.to_string_lossy());
        Metrics::new("sqlite", &name)
    }

    /// The name of the log in error messages.
    pub(super) fn name(&self) -> String {
        match &self.location {
            Location::File(path) => path.display().to_string(),
            Location::Memory => ":memory:".to_owned(),
        }
    }
}
