//! The device under the folder of temporary files, where the measured stores keep their data.

use crate::measure::median;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::time::Instant;
use sysinfo::Disks;

/// Flushes that are timed. The first ones allocate the file.
const FLUSHES: usize = 41;
const WARM_UP: usize = 10;
/// The size of a page of SQLite, and half of one of PostgreSQL.
const PAGE_BYTES: usize = 4_096;

/// A device with its file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// The name of the device.
    pub device: String,
    /// The type of its file system.
    pub file_system: String,
    /// The median time to overwrite one page of a file and to flush it with `fdatasync`.
    pub flush_ns: f64,
}

impl Storage {
    /// The device of a folder; `None` if it is not known, or if no file can be written there.
    pub fn of(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        let disks = Disks::new_with_refreshed_list().ok()?;
        let holding = disks
            .iter()
            .filter(|disk| folder.starts_with(disk.mount_point()));
        // The innermost mount holds the folder.
        let disk = holding.max_by_key(|disk| disk.mount_point().as_os_str().len())?;
        let text = |name: &std::ffi::OsStr| name.to_string_lossy().into_owned();
        Some(Self {
            device: text(disk.name()),
            file_system: text(disk.file_system()),
            flush_ns: flush_ns(&folder).ok()?,
        })
    }
}

fn flush_ns(folder: &Path) -> io::Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        flush_page(&mut file)?;
        times.push(begun.elapsed().as_nanos() as f64);
    }
    Ok(median(&times[WARM_UP..]).value)
}

fn flush_page(file: &mut File) -> io::Result<()> {
    file.rewind()?;
    file.write_all(&[1; PAGE_BYTES])?;
    file.sync_data()
}
