use sqlite_store::{FileConfig, Location, embed_file_config};

use crate::{Error, Limits};

/// Configuration of a store in SQLite. The settings of the file are read and set like own ones:
///
/// ```
/// use message_store::sqlite::Config;
///
/// let mut config = Config::memory();
/// config.read_connections = 16;
/// ```
///
/// `read_connections` is the maximum of a file; `read_timeout` limits a read's wait for one of them, and for
/// another process that recovers the file after a crash.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The file, batches, time limits and connections.
    pub file: FileConfig,
    /// Size limits for writes.
    pub limits: Limits,
    /// Size of each connection's page cache in bytes. Default: 16 MiB.
    pub cache_bytes: usize,
    /// The number of namespaces above which [`SqliteNamespaces`](super::SqliteNamespaces) closes those that no
    /// caller holds. Default: 32. With the default `read_connections`, these have up to 608 files open; a
    /// process may often have 1,024.
    pub max_open_namespaces: usize,
}

impl Config {
    fn at(location: Location) -> Self {
        Self {
            file: FileConfig::new(location),
            limits: Limits::default(),
            cache_bytes: 16 << 20,
            max_open_namespaces: 32,
        }
    }

    /// The settings with an absolute path, and time limits that SQLite accepts.
    pub(super) fn normalized(mut self) -> Result<Self, Error> {
        self.normalize()?;
        Ok(self)
    }
}

embed_file_config!(Config);
