//! The machine, the build and the command: the head of every page.

use crate::profile::Profile;
use crate::storage::Storage;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine and the build, without any path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The commit that is checked out, or "unknown" without git.
    pub commit: String,
    /// True if the tree differs from the commit. `reports/` does not count, because a run rewrites
    /// it.
    pub dirty: bool,
    /// The processor's name.
    pub cpu: String,
    /// Logical processors that this process may use.
    pub cores: usize,
    /// Main memory.
    pub memory_bytes: u64,
    /// Operating system and version.
    pub os: String,
    /// Operating system and processor family, as Go names them.
    pub platform: (String, String),
    /// The compiler.
    pub rustc: String,
    /// The device under the folder of temporary files; `None` in runs that were saved before this
    /// was recorded, and if it is not known.
    #[serde(default)]
    pub storage: Option<Storage>,
}

impl Environment {
    /// Reads the machine's properties, asks git and rustc, and times some flushes.
    pub fn capture() -> Self {
        let wanted = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(wanted).ok();
        let cpu = system.as_ref().and_then(|system| system.cpus().first());
        let cpu = cpu
            .map(|cpu| cpu.brand().trim().to_owned())
            .filter(|brand| !brand.is_empty());
        let unknown = || "unknown".to_owned();
        Self {
            commit: output_of("git", &["rev-parse", "HEAD"]).unwrap_or_else(unknown),
            dirty: output_of(
                "git",
                &["status", "--porcelain", "--", ":/", ":(top,exclude)reports"],
            )
            // Without git nothing proves that the tree is unchanged, so it counts as changed.
            .is_none_or(|changes| !changes.is_empty()),
            cpu: cpu.unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: system.as_ref().map_or(0, System::total_memory),
            os: System::long_os_version().ok().unwrap_or_else(unknown),
            platform: (go_os().to_owned(), go_arch().to_owned()),
            rustc: output_of("rustc", &["--version"]).unwrap_or_else(unknown),
            storage: Storage::of(&std::env::temp_dir()),
        }
    }
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    // A failing command may still print something, so the status decides below.
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn go_os() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The command, time and profile of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// The command, without paths.
    pub command: String,
    /// The start of the run, in seconds since 1970.
    pub started: u64,
    /// The time per row.
    pub profile: Profile,
}

/// Lines of a page's head about servers and data: names with texts, in the order in which they were
/// set. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    list: Arc<Mutex<Vec<(String, String)>>>,
}

impl Facts {
    /// Sets a fact. A fact that was set before keeps its place.
    pub fn set(&self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        match list.iter_mut().find(|fact| fact.0 == name) {
            Some(fact) => fact.1 = value,
            None => list.push((name, value)),
        }
    }

    /// Reserves the next place for a fact that is known only once a row has run, such as the
    /// version of a server that starts with the first row that needs it.
    pub fn reserve(&self, name: impl Into<String>) {
        let name = name.into();
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.iter().all(|fact| fact.0 != name) {
            list.push((name, String::new()));
        }
    }

    /// The facts in order, without places that are still empty.
    pub fn list(&self) -> Vec<(String, String)> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let known = list.iter().filter(|fact| !fact.1.is_empty());
        known.cloned().collect()
    }
}
