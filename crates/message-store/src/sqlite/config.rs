use sqlite_store::{FileConfig, Location, embed_file_config};

use crate::time::LONGEST_WAIT;
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
/// Reads beyond `read_connections` open connections on demand, and close them after the read. A read
/// waits for another process's lock, up to `read_timeout`, only while that process recovers the file
/// after a crash.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The file, batches, time limits and connections.
    pub file: FileConfig,
    /// Size limits for writes.
    pub limits: Limits,
    /// Size of each connection's page cache in bytes. Default: 16 MiB.
    pub cache_bytes: usize,
}

impl Config {
    fn at(location: Location) -> Self {
        Self {
            file: FileConfig::new(location),
            limits: Limits::default(),
            cache_bytes: 16 << 20,
        }
    }

    /// Makes the path absolute, and caps the time limits to what clocks and SQLite accept.
    pub(super) fn normalized(mut self) -> Result<Self, Error> {
        self.make_path_absolute()?;
        self.write_timeout = self.write_timeout.min(LONGEST_WAIT);
        self.read_timeout = self.read_timeout.min(LONGEST_WAIT);
        Ok(self)
    }
}

embed_file_config!(Config);
