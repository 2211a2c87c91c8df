use std::path::PathBuf;
use std::time::Duration;

use crate::time::LONGEST_WAIT;
use crate::{Error, Fault, Limits, Reason};

/// Configuration of a store in SQLite.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The storage of the messages: memory or a file.
    pub location: Location,
    /// Whether the file is opened only for reads, for example an archive or a backup on a read-only
    /// mount. Nothing is installed or upgraded, and writes fail with [`Fault::ReadOnlyFile`]. Default:
    /// off.
    ///
    /// Reads see what other processes write. But if the file and its folder can't be written and no
    /// process has the store open, SQLite opens the file as immutable: it takes no locks and does not
    /// notice changes. Let no program write to the file from another mount meanwhile, because reads
    /// would then return wrong messages or fail.
    pub read_only: bool,
    /// Whether acknowledged writes survive power loss. Default: [`Durability::Full`].
    pub durability: Durability,
    /// Size limits for writes.
    pub limits: Limits,
    /// Maximum number of writes per commit. Default: 512.
    pub max_batch_requests: usize,
    /// Maximum size of the messages per commit in bytes. A larger write is committed alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// Maximum number of queued writes. Further callers wait for space. Default: 8,192.
    pub max_queued_requests: usize,
    /// Maximum size of queued messages in bytes. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// Time limit of a write, including the wait in the queue and for locks of other processes.
    /// Default: 5 s.
    pub write_timeout: Duration,
    /// How long a read may wait for another process's lock. A read waits only while another process
    /// recovers the file after a crash. Default: 10 s.
    pub read_timeout: Duration,
    /// Maximum number of read connections that stay open. More are opened on demand, and closed after
    /// their read. Default: 8.
    pub read_connections: u32,
    /// Size of each connection's page cache in bytes. Default: 16 MiB.
    pub cache_bytes: usize,
}

/// The storage of a store: memory or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In memory, until the store is dropped.
    Memory,
    /// In this file and two beside it (`-wal`, `-shm`). The file is created if it is missing; its
    /// folder must exist. It must be on a local file system, because SQLite's write-ahead log needs
    /// shared memory.
    File(PathBuf),
}

/// The failures that acknowledged writes survive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Power loss. Each commit ends with an fsync of the log (`synchronous = FULL`).
    #[default]
    Full,
    /// A crash of the process, but not power loss. Power loss may lose the last commits, but never
    /// a part of a commit (`synchronous = NORMAL`).
    Normal,
}

impl Config {
    /// The default configuration of a store in memory.
    pub fn memory() -> Self {
        Self::with_location(Location::Memory)
    }

    /// The default configuration of a store in a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::with_location(Location::File(path.into()))
    }

    fn with_location(location: Location) -> Self {
        Self {
            location,
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
            cache_bytes: 16 << 20,
        }
    }

    /// Opens the file only for reads. See [`Config::read_only`](Self#structfield.read_only).
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets the durability.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Makes the path absolute, because readers open the file later, when the working directory may
    /// have changed, and caps the time limits to what clocks and SQLite accept.
    pub(super) fn normalized(mut self) -> Result<Self, Error> {
        if let Location::File(path) = &mut self.location {
            *path = std::path::absolute(&*path).map_err(|failed| {
                Error::Fault(Fault::Unreachable(Reason::new(format!(
                    "{}: {failed}",
                    path.display()
                ))))
            })?;
        }
        self.write_timeout = self.write_timeout.min(LONGEST_WAIT);
        self.read_timeout = self.read_timeout.min(LONGEST_WAIT);
        Ok(self)
    }

    pub(super) fn queue_limits(&self) -> group_commit::Limits {
        group_commit::Limits {
            max_batch_requests: self.max_batch_requests,
            max_batch_bytes: self.max_batch_bytes,
            max_queued_requests: self.max_queued_requests,
            max_queued_bytes: self.max_queued_bytes,
            ..group_commit::Limits::default()
        }
    }
}
