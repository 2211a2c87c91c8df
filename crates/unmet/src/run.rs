//! One run of `cargo test`, and its file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Files of runs that ended early are kept this long.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// The test executables that one process started.
#[derive(Debug)]
pub struct Run {
    file: PathBuf,
}

impl Run {
    /// The run that this process, a test executable, belongs to.
    ///
    /// # Panics
    /// If the path of this executable is unknown.
    pub fn of_this_process() -> Self {
        let executable = std::env::current_exe().expect("the path of this executable");
        // `target/debug/deps/it-0123456789abcdef`
        let profile = executable.ancestors().nth(2).expect("a folder above");
        let parent = std::os::unix::process::parent_id();
        let name = format!("{parent}-{}", start_of(parent));
        Self {
            file: profile.join("unmet").join(name),
        }
    }

    /// Adds a line to the list. A test does not fail because the list can't be written.
    pub(crate) fn add(&self, line: &str) {
        if let Some(folder) = self.file.parent() {
            let _ = fs::create_dir_all(folder);
        }
        if let Ok(mut file) = File::options().create(true).append(true).open(&self.file) {
            // One call, so that lines of several processes do not mix.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Returns the lines in alphabetical order, and removes them. Also removes files of earlier runs that
    /// never came this far.
    pub fn take(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let _ = fs::remove_file(&self.file);
        self.remove_old();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    }

    fn remove_old(&self) {
        let folder = self
            .file
            .parent()
            .and_then(|folder| fs::read_dir(folder).ok());
        for entry in folder.into_iter().flatten().flatten() {
            let changed = entry.metadata().and_then(|file| file.modified());
            let age = changed.ok().and_then(|changed| changed.elapsed().ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// When a process started, where the system tells it: process ids are used again.
fn start_of(process: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in brackets, may contain spaces. The start is the 22nd field, the 20th after it.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().nth(19).unwrap_or("0").to_owned()
}
