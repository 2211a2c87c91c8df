use std::path::PathBuf;
use std::time::Duration;

use crate::time::LONGEST_WAIT;
use crate::{Error, Limits};

/// Where a store is, what its commits survive, and within which bounds it works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where the messages are.
    pub location: Location,
    /// What an acknowledged write survives. Default: [`Durability::Full`].
    pub durability: Durability,
    /// How large a write may be.
    pub limits: Limits,
    /// The most writes that one commit takes. Default: 512.
    pub max_batch_requests: usize,
    /// The most bytes of messages that one commit takes; one write that is larger goes alone.
    /// Default: 1 MiB.
    pub max_batch_bytes: usize,
    /// The most writes that wait for a commit; who comes then waits for room. Default: 8,192.
    pub max_queued_requests: usize,
    /// The most bytes of messages that wait for a commit. Default: 16 MiB.
    pub max_queued_bytes: usize,
    /// How long a write may take, waiting for others and for other processes included. Default:
    /// 5 s.
    pub write_timeout: Duration,
    /// How long a read may wait for a lock of another process, which readers need only while one
    /// recovers the file. Default: 10 s.
    pub read_timeout: Duration,
    /// The most read connections that are kept open while nobody reads; more are opened where more
    /// read at once. Default: 8.
    pub idle_readers: usize,
    /// The page cache of each connection, in bytes. Default: 16 MiB.
    pub cache_bytes: usize,
}

/// Where the messages of a store are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In this process only, gone when the store is.
    Memory,
    /// In this file and two beside it (`-wal`, `-shm`). Made where there is none; its folder must
    /// exist. On a local file system: SQLite's log needs shared memory.
    File(PathBuf),
}

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The loss of power: each commit ends with an fsync of the log (`synchronous = FULL`).
    #[default]
    Full,
    /// The death of the process, not the loss of power: that may take the last commits, never leave
    /// half of one (`synchronous = NORMAL`).
    Normal,
}

impl Config {
    /// The defaults, in memory.
    pub fn memory() -> Self {
        Self::at(Location::Memory)
    }

    /// The defaults, in a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Location::File(path.into()))
    }

    fn at(location: Location) -> Self {
        Self {
            location,
            durability: Durability::Full,
            limits: Limits::default(),
            max_batch_requests: 512,
            max_batch_bytes: 1 << 20,
            max_queued_requests: 8192,
            max_queued_bytes: 16 << 20,
            write_timeout: Duration::from_secs(5),
            read_timeout: Duration::from_secs(10),
            idle_readers: 8,
            cache_bytes: 16 << 20,
        }
    }

    /// With this durability.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// As it is used: with the path from the root, so that a working directory that changes later does
    /// not lead readers to another file, and with limits that clocks and SQLite can bear.
    pub(super) fn settled(mut self) -> Result<Self, Error> {
        if let Location::File(path) = &mut self.location {
            *path = std::path::absolute(&*path).map_err(|failed| Error::Unavailable {
                reason: format!("{}: {failed}", path.display()).into(),
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
