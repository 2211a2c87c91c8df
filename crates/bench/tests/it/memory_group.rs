//! The limit of memory of the peers' processes.

use bench::peers::MemoryGroup;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const LIMIT: u64 = 64 << 20;
/// Makes the test of the interrupted run play the run.
const PLAYS_RUN: &str = "MEMORY_GROUP_PLAYS_RUN";

/// Runs a script in a new group.
fn run(name: &str, script: &str) -> Option<(MemoryGroup, Output)> {
    let group = unmet::need("cgroup", MemoryGroup::new(name).ok())?;
    group.limit(LIMIT).unwrap();
    let output = run_in(&group, script);
    Some((group, output))
}

fn run_in(group: &MemoryGroup, script: &str) -> Output {
    let arguments: Vec<OsString> = vec!["-c".into(), script.into()];
    let (program, arguments) = group.inside(Path::new("sh"), &arguments);
    Command::new(program).args(arguments).output().unwrap()
}

#[test]
fn process_that_needs_more_memory_than_its_limit_is_killed_and_counted() {
    // tail keeps a line until it ends.
    let script = "head -c 200000000 /dev/zero | tail -n 1 | wc -c";
    let Some((group, output)) = run("killed", script) else {
        return;
    };
    assert_eq!(group.kills(), 1, "{output:?}");
    let output = run_in(&group, "head -c 20000000 /dev/zero | tail -n 1 | wc -c");
    assert_eq!(output.stdout.trim_ascii(), b"20000000", "{output:?}");
    assert_eq!(group.kills(), 1);
}

#[test]
fn cached_pages_of_files_count_and_are_dropped_at_the_limit() {
    let Some(group) = unmet::need("cgroup", MemoryGroup::new("cached").ok()) else {
        return;
    };
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = file.path().display();
    let script = format!("head -c 200000000 /dev/zero >{file}; sync {file}");
    assert!(run_in(&group, &script).status.success());
    let used = || {
        let names = ["memory.usage_in_bytes", "memory.current"];
        let texts = names.map(|name| std::fs::read_to_string(group.folder().join(name)));
        let text = texts.into_iter().find_map(Result::ok).unwrap();
        text.trim().parse::<u64>().unwrap()
    };
    assert!(used() > 200_000_000, "{} bytes", used());
    group.limit(LIMIT).unwrap();
    assert!(used() <= LIMIT, "{} bytes", used());
    assert_eq!(group.kills(), 0);
}

#[test]
fn group_is_removed_with_the_run_and_after_ctrl_c() {
    if std::env::var_os(PLAYS_RUN).is_some() {
        let group = MemoryGroup::new("interrupted").unwrap();
        let script = "echo \"in $0\"; sleep 60".into();
        let arguments = ["-c".into(), script, group.folder().into()];
        let (program, arguments) = group.inside(Path::new("sh"), &arguments);
        let _ = Command::new(program).args(arguments).status();
        return;
    }
    let Some((group, _)) = run("removed", "true") else {
        return;
    };
    let folder = group.folder().to_owned();
    assert!(folder.exists());
    drop(group);
    assert!(!folder.exists());

    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["memory_group::group_is_removed", "--nocapture"])
        .env(PLAYS_RUN, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut folders = lines.map_while(Result::ok).filter_map(|line| {
        let folder = line.split_once("in /")?.1;
        Some(PathBuf::from(format!("/{folder}")))
    });
    let folder = folders.next().unwrap();
    assert!(folder.exists());
    let pid = child.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(interrupted.success());
    child.wait().unwrap();
    let began = Instant::now();
    while folder.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "{folder:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
