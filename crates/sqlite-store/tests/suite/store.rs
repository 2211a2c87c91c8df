//! The part of a store that the suite needs.

use std::error::Error;
use std::path::Path;

use sqlite_store::FileConfig;
use store_fault::{Fault, Health};

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) fault: Option<Fault>,
    pub(crate) is_transient: bool,
    pub(crate) text: String,
}

impl Failed {
    pub(crate) fn new(error: &(dyn Error + 'static), is_transient: bool) -> Self {
        Self {
            fault: Fault::in_chain(error).cloned(),
            is_transient,
            text: error.to_string(),
        }
    }
}

pub(crate) type Answer<T> = Result<T, Failed>;

/// A store of records in a file. The ground does not look into records.
pub(crate) trait Store: Clone + Send + Sync + 'static {
    fn open(file: FileConfig) -> impl Future<Output = Answer<Self>> + Send;

    /// Opens the store for threads, and closes it.
    fn open_blocking(file: FileConfig) -> Answer<()>;

    /// Writes one record.
    fn write(&self) -> impl Future<Output = Answer<()>> + Send;

    /// The same, by the store for threads.
    fn write_blocking(&self) -> Answer<()>;

    /// Writes records with this much data in one call, and returns their number.
    fn write_bytes_blocking(&self, bytes: usize) -> Answer<u64>;

    /// Reads this many records from the first on, in one snapshot.
    fn read_blocking(&self, records: u64) -> Answer<()>;

    /// The number of records, which are not read.
    fn total_blocking(&self) -> Answer<u64>;

    /// Deletes records. The call does not go through the queue of writes.
    fn delete(&self) -> impl Future<Output = Answer<()>> + Send;

    /// The number of records, which are read one by one.
    fn count(&self) -> impl Future<Output = Answer<u64>> + Send;

    fn health(&self) -> impl Future<Output = Answer<Health>> + Send;

    /// Copies the store into a new file.
    fn backup(&self, copy: &Path) -> impl Future<Output = Answer<()>> + Send;

    /// Rebuilds what the store derives from its records.
    fn repair(file: FileConfig) -> Answer<()>;

    fn close(self) -> impl Future<Output = ()> + Send;
}
