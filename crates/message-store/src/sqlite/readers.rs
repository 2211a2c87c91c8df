//! Connections that read beside the writer.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::config::Config;
use super::connection;
use crate::Error;

/// Idle read connections of one file. Nobody waits for one: where none is idle, another is opened.
pub(super) struct Readers {
    config: Config,
    path: PathBuf,
    /// `None` once closed.
    idle: Mutex<Option<Vec<Connection>>>,
}

impl Readers {
    pub(super) fn new(config: Config, path: PathBuf) -> Self {
        Self {
            config,
            path,
            idle: Mutex::new(Some(Vec::new())),
        }
    }

    /// Lends a connection to `read`.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let idle = self.lock().as_mut().ok_or(Error::Closed)?.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connection::reader(&self.config, &self.path)?,
        };
        let result = read(&connection);
        if let Some(idle) = self.lock().as_mut()
            && idle.len() < self.config.idle_readers
        {
            idle.push(connection);
        }
        result
    }

    /// Closes what is idle now, and what is lent when it comes back.
    pub(super) fn close(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        // Nothing that can panic runs under the lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
