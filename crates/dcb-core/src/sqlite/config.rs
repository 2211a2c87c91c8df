use sqlite_store::{FileConfig, Location, embed_file_config};

use crate::{Fault, Lanes, Limits, Metrics, ProjectionLimit};

/// The location and the limits of a log in SQLite. The settings of the file are read and set like own
/// ones:
///
/// ```
/// use dcb_core::sqlite::Config;
///
/// let mut config = Config::memory();
/// config.read_connections = 16;
/// ```
///
/// The file may also contain your own tables, because the names of the log's tables start with `dcb_`.
///
/// `read_connections` is the maximum of a file; `read_timeout` limits a read's wait for one of them, and
/// opening the log while other processes lock the file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The file, batches, time limits and connections.
    pub file: FileConfig,
    /// The size limits of an append.
    pub limits: Limits,
    /// Maximum number of index keys in memory before they move to the index in the file. An event
    /// with two tags has three keys: one for each tag, and one for searches by type. Moving many
    /// keys together writes each index page less often. During the move, up to a quarter more keys
    /// accumulate. Opening a log reads the events whose keys are not in the file. Default: 65,536
    /// keys, which take about 4 MB of memory and 10 ms to read.
    pub keys_in_memory: usize,
    /// Maximum number of concurrent projections. Excess calls fail. Default: 100.
    pub max_concurrent_projections: usize,
    /// Maximum size in bytes of what the store keeps of boundaries on which it has decided, so that
    /// the next decision on one of them reads nothing; see [decisions](crate::cost). 0 keeps nothing.
    /// Default: [`Lanes::DEFAULT_CACHE_BYTES`], 64 MiB.
    pub lane_cache_bytes: usize,
}

impl Config {
    fn at(location: Location) -> Self {
        Self {
            file: FileConfig::new(location),
            limits: Limits::default(),
            keys_in_memory: 65_536,
            max_concurrent_projections: ProjectionLimit::DEFAULT_MAX,
            lane_cache_bytes: Lanes::DEFAULT_CACHE_BYTES,
        }
    }

    /// The settings with an absolute path, and time limits that SQLite accepts.
    pub(super) fn normalized(mut self) -> Result<Self, Fault> {
        self.normalize()?;
        Ok(self)
    }

    /// The handles of the log's metrics.
    pub(super) fn metrics(&self) -> Metrics {
        let file = match &self.location {
            Location::File(path) => path.file_name(),
            Location::Memory => None,
        };
        let name = file.map_or("memory".into(), |name| name.to_string_lossy());
        Metrics::new("sqlite", &name)
    }

    /// The name of the log in error messages.
    pub(super) fn name(&self) -> String {
        match &self.location {
            Location::File(path) => path.display().to_string(),
            Location::Memory => ":memory:".to_owned(),
        }
    }
}

embed_file_config!(Config);
