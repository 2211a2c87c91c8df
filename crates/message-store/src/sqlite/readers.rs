//! Read connections.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use sqlite_store::{Access, OpenedFile};
use store_meter::{PoolMeter, Share, Timer};

use super::config::Config;
use super::connection;
use super::error::Failure;
use crate::{Error, Fault};

/// The idle read connections of one file. If none is idle, a read opens another, so no read waits.
pub(super) struct Readers {
    config: Config,
    file: OpenedFile,
    access: Access,
    meter: PoolMeter,
    /// `None` once closed.
    idle: Mutex<Option<Vec<Open>>>,
}

/// An open connection, and the share that counts it.
type Open = (Connection, Share);

impl Readers {
    pub(super) fn new(config: Config, file: OpenedFile, access: Access, meter: PoolMeter) -> Self {
        Self {
            config,
            file,
            access,
            meter,
            idle: Mutex::new(Some(Vec::new())),
        }
    }

    /// Runs `read` on an idle or a new connection.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let asked = Timer::start();
        // Take the connection that was used last, because its page cache is the freshest.
        let idle = self
            .lock()
            .as_mut()
            .ok_or(Error::Fault(Fault::Closed))?
            .pop();
        let open = match idle {
            Some(open) => open,
            None => (self.open()?, self.meter.opened()),
        };
        // The lock is not held here: reads run in parallel.
        let borrowed = self.meter.borrowed(asked);
        let result = read(&open.0);
        drop(borrowed);
        // A connection that is not kept is dropped, which closes it.
        if let Some(idle) = self.lock().as_mut()
            && idle.len() < self.config.read_connections as usize
        {
            idle.push(open);
        }
        result
    }

    /// The file that the writer has open.
    pub(super) fn file(&self) -> &OpenedFile {
        &self.file
    }

    /// Opens another connection to that file.
    fn open(&self) -> Result<Connection, Failure> {
        let opened = connection::reader(&self.config, self.file.path(), self.access);
        // Checked before the result: a file that is missing has been moved.
        self.file.check()?;
        Ok(opened?)
    }

    /// Closes the idle connections. Connections in use are closed when their reads end.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Open>>> {
        // Nothing that can panic runs under the lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
