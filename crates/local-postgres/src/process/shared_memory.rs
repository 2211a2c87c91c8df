//! Removes the shared memory that a killed server leaves behind. A power cut would have cleared it.

use std::{collections::BTreeSet, fs, path::Path, path::PathBuf, process::Command, process::Stdio};

/// The shared memory of a running server, recorded before the server is killed.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// POSIX segments, as files. Empty on other systems than Linux, which lists a process's memory
    /// in `/proc`.
    files: BTreeSet<PathBuf>,
    /// The System V segment that guards the data folder.
    segment: Option<u32>,
}

impl SharedMemory {
    pub(crate) fn of(postmaster: i32, data: &Path) -> Self {
        let map = fs::read_to_string(format!("/proc/{postmaster}/maps")).unwrap_or_default();
        let files = map
            .lines()
            .filter_map(|line| line.find("/dev/shm/PostgreSQL.").map(|at| &line[at..]))
            .filter(|name| !name.ends_with("(deleted)"))
            .map(PathBuf::from)
            .collect();
        let about = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
        Self {
            files,
            segment: segment_in(&about),
        }
    }

    /// Ignores errors: a segment that stays takes a few kilobytes, and the next start on the same
    /// folder removes it.
    pub(crate) fn remove(self) {
        for file in self.files {
            let _ = fs::remove_file(file);
        }
        if let Some(segment) = self.segment {
            let mut ipcrm = Command::new("ipcrm");
            let _ = ipcrm
                .arg("-m")
                .arg(segment.to_string())
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// The segment's id, from the seventh line of postmaster.pid. That line holds the segment's key and
/// id.
fn segment_in(postmaster_pid: &str) -> Option<u32> {
    postmaster_pid
        .lines()
        .nth(6)?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}
