use std::time::Duration;

use crate::DbOptions;

/// What a crash may take from a database with files.
///
/// A clean end ([`Db::close`](crate::Db::close), or the drop of the last clone) loses nothing in
/// any mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Writes are handed to the operating system once a second and made durable only at a
    /// snapshot, at [`Db::sync`](crate::Db::sync) and at the end. The end of the process by force
    /// takes at most the writes of the last second; the end of the machine all since then.
    Unsynced,
    /// A thread makes all writes durable at this interval: a crash takes at most the writes of one
    /// interval, and of the time that the disk needs. A write copies itself into memory, and waits
    /// for the disk only when several megabytes of its shard do.
    Periodic(Duration),
    /// A write returns when it is durable: a crash takes none that returned. Writers that wait at
    /// the same time share one sync.
    Commit,
}

/// Every second.
impl Default for Durability {
    fn default() -> Self {
        Self::Periodic(Duration::from_secs(1))
    }
}

/// How a database with files is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// What it accepts and keeps. What it accepted under other options stays.
    pub db: DbOptions,
    /// What a crash may take.
    pub durability: Durability,
    /// How long a file of the log grows, in bytes. Two of them are in memory while a database is
    /// opened.
    pub segment_bytes: u64,
    /// When the log has so many bytes, a thread takes a snapshot in its place; `None` for never.
    pub snapshot_after_bytes: Option<u64>,
}

/// Files of 16 MiB, and a snapshot after 256 MiB.
impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            db: DbOptions::default(),
            durability: Durability::default(),
            segment_bytes: 16 << 20,
            snapshot_after_bytes: Some(256 << 20),
        }
    }
}
