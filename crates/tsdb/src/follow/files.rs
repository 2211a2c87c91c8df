use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage::{Storage, StorageFailure, StorageFile, StoredFile};
use crate::wal::{segment, segment_number, snapshot, snapshot_number};

/// The prefix of segments that the database has removed and the sender still needs. Recovery ignores
/// files with such names.
const KEPT: &str = "unsent-";

/// A file of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogFile {
    Segment(u64),
    Snapshot(u64),
}

impl LogFile {
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Segment(number) | Self::Snapshot(number) => number,
        }
    }
}

/// The files of a log, shared by the database and its follower.
pub(super) struct Files {
    storage: Box<dyn Storage>,
    /// The first segment that the sender still needs.
    needed: AtomicU64,
    /// Whether the log exists only for the sender. Then sent segments are removed.
    pub(super) is_temporary: bool,
}

impl Files {
    pub(super) fn new(storage: impl Storage, is_temporary: bool) -> Self {
        Self {
            storage: Box::new(storage),
            needed: AtomicU64::new(0),
            is_temporary,
        }
    }

    pub(super) fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Keeps the segments from `segment` on. Call this before the database opens the files.
    pub(super) fn need(&self, segment: u64) {
        self.needed.store(segment, Ordering::SeqCst);
    }

    /// Keeps the segments from `segment` on, and removes older ones that only the sender needed.
    pub(super) fn release_before(&self, segment: u64) -> Result<(), StorageFailure> {
        self.need(segment);
        for file in self.list()? {
            let of_log = segment_number(&file.name).filter(|_| self.is_temporary);
            let number = kept_number(&file.name).or(of_log);
            if number.is_some_and(|number| number < segment) {
                let failed = |cause| StorageFailure::new("remove", &file.name, cause);
                self.storage.remove(&file.name).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The length of each segment, by its number.
    pub(super) fn segments(&self) -> Result<BTreeMap<u64, u64>, StorageFailure> {
        let files = self.list()?.into_iter();
        let number = |name: &str| segment_number(name).or(kept_number(name));
        Ok(files
            .filter_map(|file| Some((number(&file.name)?, file.length)))
            .collect())
    }

    /// The number of the newest snapshot.
    pub(super) fn newest_snapshot(&self) -> Result<Option<u64>, StorageFailure> {
        let files = self.list()?.into_iter();
        Ok(files.filter_map(|file| snapshot_number(&file.name)).max())
    }

    /// Replaces the content of `into` with up to `max` bytes of a file; with none if it is missing.
    pub(super) fn read(
        &self,
        file: LogFile,
        offset: u64,
        max: usize,
        into: &mut Vec<u8>,
    ) -> Result<(), StorageFailure> {
        let read = match file {
            LogFile::Snapshot(number) => self.read_name(&snapshot(number), offset, max, into),
            LogFile::Segment(number) => match self.read_name(&segment(number), offset, max, into) {
                // The database may have removed it just now.
                Ok(false) => self.read_name(&kept(number), offset, max, into),
                read => read,
            },
        };
        read.map(drop)
    }

    /// Returns whether the file exists.
    fn read_name(
        &self,
        name: &str,
        offset: u64,
        max: usize,
        into: &mut Vec<u8>,
    ) -> Result<bool, StorageFailure> {
        into.clear();
        match self.storage.read_from(name, offset, max, into) {
            Ok(()) => Ok(true),
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(StorageFailure::new("read", name, cause)),
        }
    }

    fn list(&self) -> Result<Vec<StoredFile>, StorageFailure> {
        let listed = self.storage.list();
        listed.map_err(|cause| StorageFailure::new("list", "", cause))
    }
}

fn kept(number: u64) -> String {
    format!("{KEPT}{number:016x}")
}

fn kept_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(KEPT)?;
    u64::from_str_radix(digits, 16).ok()
}

/// The storage that the database sees. Removing a segment that the sender needs renames it.
pub(super) struct Followed(pub(super) Arc<Files>);

impl Storage for Followed {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        self.0.storage.list()
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        self.0.storage.read(name, into)
    }

    fn read_from(&self, name: &str, offset: u64, max: usize, into: &mut Vec<u8>) -> io::Result<()> {
        self.0.storage.read_from(name, offset, max, into)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.0.storage.create(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.storage.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let needed = self.0.needed.load(Ordering::SeqCst);
        match segment_number(name).filter(|number| *number >= needed) {
            Some(number) => self.0.storage.rename(name, &kept(number)),
            None => self.0.storage.remove(name),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.0.storage.sync_folder()
    }
}
