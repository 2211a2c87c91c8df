//! What was measured, and on what: the head of every page.

use crate::profile::Profile;
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine and the build. No path of the machine is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// The commit checked out, or what git said instead.
    pub commit: String,
    /// Whether the tree differs from it; `reports/` is not looked at, since a run rewrites it.
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
}

impl Environment {
    /// Looks at this machine, and asks git and rustc.
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
            commit: answer("git", &["rev-parse", "HEAD"]).unwrap_or_else(unknown),
            dirty: answer(
                "git",
                &["status", "--porcelain", "--", ":/", ":(top,exclude)reports"],
            )
            .is_none_or(|changes| !changes.is_empty()),
            cpu: cpu.unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: system.as_ref().map_or(0, System::total_memory),
            os: System::long_os_version().ok().unwrap_or_else(unknown),
            platform: (go_os().to_owned(), go_arch().to_owned()),
            rustc: answer("rustc", &["--version"]).unwrap_or_else(unknown),
        }
    }
}

fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
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

/// How a run was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    /// The command, without paths.
    pub command: String,
    /// When the run began, in seconds since 1970.
    pub started: u64,
    /// How long each row was measured.
    pub profile: Profile,
}

/// What a target tells of the servers and data that it measured: a name and a text, printed in
/// the page's head in the order they were set. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    list: Arc<Mutex<Vec<(String, String)>>>,
}

impl Facts {
    /// Sets a fact, in place where it has been set before.
    pub fn set(&self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        match list.iter_mut().find(|fact| fact.0 == name) {
            Some(fact) => fact.1 = value,
            None => list.push((name, value)),
        }
    }

    /// The facts in order.
    pub fn list(&self) -> Vec<(String, String)> {
        self.list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
