//! Access to a log's file beside the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::Log;

/// A connection that does not belong to the store.
pub(crate) fn foreign(log: &Log) -> Connection {
    let connection = Connection::open(log.path()).expect("the file can be opened");
    connection
        .busy_timeout(Duration::from_secs(60))
        .expect("the timeout can be set");
    connection
}

/// The write lock of a log's file, held by the test. No append commits until the test releases the
/// lock.
pub(crate) struct LogLock {
    connection: Connection,
}

impl LogLock {
    pub(crate) fn take(log: &Log) -> Self {
        let connection = foreign(log);
        connection
            .execute_batch("BEGIN IMMEDIATE")
            .expect("the lock is free");
        Self { connection }
    }

    pub(crate) fn release(self) {
        self.connection
            .execute_batch("COMMIT")
            .expect("the transaction ends");
    }
}

/// The path of a database's write-ahead log.
pub(crate) fn write_ahead_log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// The offset of each commit's end in the write-ahead log of a database, in bytes.
///
/// ```text
/// header 32 | frame … ; frame: page number u32 | pages after a commit u32, else 0 | 16 | page
/// ```
pub(crate) fn commits(path: &Path) -> Vec<usize> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let wal = fs::read(write_ahead_log(path)).expect("the write-ahead log exists");
    let number = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().expect("4 bytes"));
    let frame = FRAME_HEADER + number(8) as usize;
    (HEADER..wal.len())
        .step_by(frame)
        .filter(|start| start + frame <= wal.len() && number(start + 4) != 0)
        .map(|start| start + frame)
        .collect()
}
