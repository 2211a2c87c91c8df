//! Other users of a log's file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use super::Log;

/// A connection that is not the store's.
pub(crate) fn foreign(log: &Log) -> Connection {
    let connection = Connection::open(log.path()).expect("a connection");
    connection
        .busy_timeout(Duration::from_secs(60))
        .expect("a setting");
    connection
}

/// The write lock of a log's file, in the hands of the test: no append is committed until it is
/// released.
pub(crate) struct LogLock {
    connection: Connection,
}

impl LogLock {
    pub(crate) fn take(log: &Log) -> Self {
        let connection = foreign(log);
        connection
            .execute_batch("BEGIN IMMEDIATE")
            .expect("the lock");
        Self { connection }
    }

    pub(crate) fn release(self) {
        self.connection.execute_batch("COMMIT").expect("its end");
    }
}

/// The write-ahead log beside a database.
pub(crate) fn write_ahead_log(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Where each commit ends in the write-ahead log of a database, in bytes.
///
/// ```text
/// header 32 | frame … ; frame: page number u32 | pages after a commit u32, else 0 | 16 | page
/// ```
pub(crate) fn commits(path: &Path) -> Vec<usize> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let wal = fs::read(write_ahead_log(path)).expect("a write-ahead log");
    let number = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().expect("4 bytes"));
    let frame = FRAME_HEADER + number(8) as usize;
    (HEADER..wal.len())
        .step_by(frame)
        .filter(|start| start + frame <= wal.len() && number(start + 4) != 0)
        .map(|start| start + frame)
        .collect()
}
