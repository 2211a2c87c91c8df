use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use sysinfo::{Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// The start time of a process is computed from the system clock. When the clock is adjusted, two
/// programs of one run see start times of their parent that differ by up to this many seconds.
const CLOCK_SLACK_S: u64 = 3;

/// The identity of a run: the `cargo` process that starts its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId {
    /// Its start, in seconds since 1970.
    pub started: u64,
    /// Its process id.
    pub process: u32,
}

impl RunId {
    /// The name of the run's folder.
    pub fn folder(&self) -> String {
        format!("{}-{}", self.started, self.process)
    }

    fn from_folder(name: &OsStr) -> Option<Self> {
        let (started, process) = name.to_str()?.split_once('-')?;
        Some(Self {
            started: started.parse().ok()?,
            process: process.parse().ok()?,
        })
    }

    /// Finds the folder in `runs` that an earlier program of the same run made, and returns the
    /// identity in its name. Returns this identity if there is no such folder.
    pub fn joined(self, runs: &Path) -> Self {
        let folders = std::fs::read_dir(runs).into_iter().flatten().flatten();
        folders
            .filter_map(|folder| Self::from_folder(&folder.file_name()))
            .find(|other| self.is_same_process(*other))
            .unwrap_or(self)
    }

    fn is_same_process(self, other: Self) -> bool {
        self.process == other.process && self.started.abs_diff(other.started) <= CLOCK_SLACK_S
    }
}

/// The process that started this one.
pub(crate) struct Parent {
    pub(crate) id: RunId,
    pub(crate) is_cargo: bool,
    /// Its arguments, without paths.
    pub(crate) command: String,
}

impl Parent {
    /// Finds the parent process. If it is not visible, this process stands in for it.
    pub(crate) fn find() -> Self {
        Self::seen().unwrap_or_else(|| Self {
            id: RunId {
                started: now(),
                process: std::process::id(),
            },
            is_cargo: false,
            command: String::new(),
        })
    }

    fn seen() -> Option<Self> {
        let mut system = System::new().ok()?;
        let this = refreshed(&mut system, Pid::from_u32(std::process::id()))?.parent()?;
        // The parent is cargo if `cargo bench` started this program.
        let parent = refreshed(&mut system, this)?;
        Some(Self {
            id: RunId {
                started: parent.start_time(),
                process: parent.pid().as_u32(),
            },
            is_cargo: is_cargo(parent.name()),
            command: command(parent.cmd()),
        })
    }
}

fn refreshed(system: &mut System, pid: Pid) -> Option<&Process> {
    let wanted = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, wanted);
    system.process(pid)
}

fn is_cargo(name: &OsStr) -> bool {
    Path::new(name).file_stem() == Some(OsStr::new("cargo"))
}

fn command(arguments: &[std::ffi::OsString]) -> String {
    let shown = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy());
    let shown = shown.map(|text| {
        // A path would reveal the machine, and it differs between machines.
        if text.contains(['/', '\\']) {
            "…".into()
        } else {
            text
        }
    });
    shown.fold("cargo".to_owned(), |line, argument| line + " " + &argument)
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
