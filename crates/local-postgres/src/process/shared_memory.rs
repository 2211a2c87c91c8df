//! Removes the shared memory that a killed server leaves. A power cut would have cleared it.

use std::{collections::BTreeSet, fs, path::Path, path::PathBuf, process::Command, process::Stdio};

/// The shared memory of a running server, noted before it is killed.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    /// POSIX segments, as files. Only Linux shows a server's memory map, so only there are they found.
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

    /// Best effort: a segment that stays has some kilobytes, and a restart on the same folder removes it.
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

/// The seventh line of postmaster.pid: key and id.
fn segment_in(postmaster_pid: &str) -> Option<u32> {
    postmaster_pid
        .lines()
        .nth(6)?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}
