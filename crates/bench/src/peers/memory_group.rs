//! A cgroup: bounds the memory of the processes in it, together with the pages of files that they have cached.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Joins the group whose folder comes first, and becomes the program.
const JOIN: &str = r#"echo $$ >"$0/cgroup.procs" && exec "$@""#;
/// Waits until its stdin is closed, however the process at the other end has ended. Then it ends the group.
const KEEP: &str = r#"
while read -r _; do :; done
tries=0
while ! rmdir "$0" && [ -d "$0" ] && [ $tries -lt 200 ]; do
  kill -9 $(cat "$0/cgroup.procs")
  tries=$((tries + 1))
  sleep 0.1
done"#;
/// The kernel gives up a reclaim that makes slow progress; the next one goes on.
const LIMIT_TRIES: usize = 50;

/// The files of a version of cgroups.
struct Files {
    limit: &'static str,
    /// Of memory and swap together in version 1, of swap alone in version 2.
    swap_limit: &'static str,
    counts: &'static str,
}

const V1: Files = Files {
    limit: "memory.limit_in_bytes",
    swap_limit: "memory.memsw.limit_in_bytes",
    counts: "memory.oom_control",
};
const V2: Files = Files {
    limit: "memory.max",
    swap_limit: "memory.swap.max",
    counts: "memory.events",
};

/// A cgroup without a limit at first. It is removed with this value, and if this process is killed.
pub struct MemoryGroup {
    folder: PathBuf,
    files: Files,
    /// The shell that removes the group.
    keeper: Child,
}

impl MemoryGroup {
    /// A group inside the group of this process, or beside it if that can't hold groups.
    ///
    /// # Errors
    /// Why this process may not make one.
    pub fn new(name: &str) -> Result<Self, String> {
        let (root, own, files) = place()?;
        let name = format!("registrar-{}-{name}", std::process::id());
        let mut reason = String::new();
        for parent in own.ancestors().filter(|parent| parent.starts_with(&root)) {
            let folder = parent.join(&name);
            if let Err(error) = fs::create_dir(&folder) {
                reason = error.to_string();
            } else if folder.join(files.limit).exists() {
                return Self::keep(folder, files);
            } else {
                reason = "groups there do not limit memory".to_owned();
                // It is empty.
                let _ = fs::remove_dir(&folder);
            }
        }
        Err(format!(
            "the run may not limit memory: no cgroup in {}: {reason}",
            own.display()
        ))
    }

    fn keep(folder: PathBuf, files: Files) -> Result<Self, String> {
        let keeper = Command::new("sh")
            .args(["-c", KEEP])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C of a terminal goes to the processes of this one's process group.
            .process_group(0)
            .spawn();
        let keeper = keeper.map_err(|error| format!("the run may not limit memory: {error}"))?;
        let group = Self {
            folder,
            files,
            keeper,
        };
        let (program, arguments) = group.inside(Path::new("true"), &[]);
        let joined = Command::new(program).args(arguments).output();
        match joined {
            Ok(joined) if joined.status.success() => Ok(group),
            joined => Err(format!(
                "the run may not limit memory: no process joins a cgroup: {joined:?}"
            )),
        }
    }

    /// The command that runs a program in the group, from its first instruction on.
    pub fn inside(&self, program: &Path, arguments: &[OsString]) -> (PathBuf, Vec<OsString>) {
        let first = ["-c".into(), JOIN.into(), self.folder.clone().into()];
        let program = [program.into()];
        let all = first.into_iter().chain(program);
        ("sh".into(), all.chain(arguments.iter().cloned()).collect())
    }

    /// Limits memory and page cache. The pages that the group has cached beyond that are dropped.
    ///
    /// # Errors
    /// Why there is no such limit.
    pub fn limit(&self, bytes: u64) -> Result<(), String> {
        let write = || fs::write(self.folder.join(self.files.limit), bytes.to_string());
        let mut written = write();
        for _ in 1..LIMIT_TRIES {
            if written.is_ok() {
                break;
            }
            sleep(Duration::from_millis(100));
            written = write();
        }
        written.map_err(|error| format!("its memory was not limited: {error}"))?;
        let swap = self.folder.join(self.files.swap_limit);
        if swap.exists() {
            let bytes = if self.files.limit == V2.limit {
                0
            } else {
                bytes
            };
            fs::write(swap, bytes.to_string())
                .map_err(|error| format!("its swap was not limited: {error}"))?;
        }
        Ok(())
    }

    /// How many of its processes the kernel has killed, because the limit left no memory for them.
    pub fn kills(&self) -> u64 {
        let counts = fs::read_to_string(self.folder.join(self.files.counts));
        let counts = counts.unwrap_or_default();
        let mut lines = counts.lines();
        let kills = lines.find_map(|line| line.strip_prefix("oom_kill "));
        kills.and_then(|kills| kills.parse().ok()).unwrap_or(0)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // It waits for the processes of the group at most.
        let _ = self.keeper.wait();
    }
}

/// The folder of all cgroups that limit memory, that of this process, and their files.
fn place() -> Result<(PathBuf, PathBuf, Files), String> {
    let groups = fs::read_to_string("/proc/self/cgroup")
        .map_err(|error| format!("the run may not limit memory: no cgroups: {error}"))?;
    // A line is `number:controllers:/path`; version 2 has the line `0::/path`.
    let path = |is_wanted: fn(&str) -> bool| {
        let mut lines = groups.lines().map(|line| line.splitn(3, ':'));
        lines.find_map(|mut parts| {
            let controllers = parts.nth(1)?;
            is_wanted(controllers).then(|| parts.next())?
        })
    };
    let has_memory = |controllers: &str| controllers.split(',').any(|name| name == "memory");
    let (root, path, files) = match path(has_memory) {
        Some(path) => ("/sys/fs/cgroup/memory", path, V1),
        None => (
            "/sys/fs/cgroup",
            path(str::is_empty).unwrap_or_default(),
            V2,
        ),
    };
    let root = PathBuf::from(root);
    let own = root.join(path.trim_start_matches('/'));
    Ok((root, own, files))
}
