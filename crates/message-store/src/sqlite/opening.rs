//! Opens a store, for reads and writes or only for reads.

use std::sync::Arc;

use group_commit::{BlockingQueue, Queue};
use rusqlite::Connection;
use sqlite_store::{Access, OpenedFile, Readers};

use super::blocking::{BlockingSqliteStore, Shared};
use super::config::Config;
use super::counters::Counters;
use super::error::Failure;
use super::writer::{Committer, Writer};
use super::{connection, schema};
use crate::{Error, Metrics};

impl BlockingSqliteStore {
    /// Opens a store, and checks its contents with `check`.
    pub(super) fn open_with(
        config: Config,
        metrics: Metrics,
        check: fn(&Connection) -> Result<(), Failure>,
    ) -> Result<Self, Error> {
        let config = config.normalized()?;
        let (access, connection) = if config.read_only {
            let (access, connection) = connection::open_to_read(&config)?;
            schema::require_installed(&connection)?;
            check(&connection)?;
            (access, None)
        } else {
            (Access::Write, Some(connection::writer(&config, check)?))
        };
        let file = config.opened()?;
        Self::new(config, metrics, connection, file, access)
    }

    fn new(
        config: Config,
        metrics: Metrics,
        connection: Option<Connection>,
        file: Option<OpenedFile>,
        access: Access,
    ) -> Result<Self, Error> {
        let reads = metrics.store().reads().clone();
        let counters = Arc::new(Counters::new(metrics));
        let readers = file.map(|file| {
            let (opens, path) = (config.clone(), file.path().to_owned());
            let open = move || connection::reader(&opens, &path, access);
            Arc::new(Readers::new(&config, file, reads, open))
        });
        let writer = Writer::new(connection, readers.clone(), &config, Arc::clone(&counters))?;
        let writer = Arc::new(writer);
        let limits = config.queue_limits();
        let shared = Shared {
            config,
            blocking_queue: BlockingQueue::new(Committer(Arc::clone(&writer)), limits),
            async_queue: Queue::new(Committer(Arc::clone(&writer)), limits),
            writer,
            readers,
            counters,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }
}
