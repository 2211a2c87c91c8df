//! Finds and signals processes of this machine: a server's children, and servers whose owner has
//! ended.

use std::{
    fs, io,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// One process.
#[derive(Debug, Clone, Copy)]
struct Row {
    pid: i32,
    parent: i32,
    /// `T` is stopped, `Z` is dead and not yet reaped.
    state: char,
}

/// Kills a postmaster and all its children, as a power cut would, and returns when they are dead.
///
/// Each child leads its own process group, so the function finds the children by their parent id.
/// It stops the postmaster first, so that the postmaster forks no more children and does not start
/// crash recovery when a child dies. It kills the postmaster last: on its death, a commit that waits for
/// a standby would stop waiting, and the children that are left would see what no standby has.
pub(crate) fn kill_with_children(postmaster: i32) -> io::Result<()> {
    let family = stop(postmaster)?;
    let children = family.iter().filter(|pid| **pid != postmaster);
    for pid in children.chain([&postmaster]) {
        signal(*pid, Signal::KILL)?;
    }
    wait_until(|| {
        let alive = |row: &Row| family.contains(&row.pid) && row.state != 'Z';
        rows().map(|rows| !rows.iter().any(alive))
    })
}

/// Stops a process and all its children, as a virtual machine does that is paused.
pub(crate) fn pause_with_children(parent: i32) -> io::Result<()> {
    let family = stop(parent)?;
    family.iter().try_for_each(|pid| signal(*pid, Signal::STOP))
}

/// Lets a process and all its children go on.
pub(crate) fn resume_with_children(parent: i32) -> io::Result<()> {
    let family = family_of(parent)?;
    family.iter().try_for_each(|pid| signal(*pid, Signal::CONT))
}

/// Stops a process, so that it forks no more children, and returns it and its children.
fn stop(parent: i32) -> io::Result<Vec<i32>> {
    signal(parent, Signal::STOP)?;
    wait_until(|| rows().map(|rows| rows.iter().any(|row| is_stopped(row, parent))))?;
    family_of(parent)
}

fn family_of(parent: i32) -> io::Result<Vec<i32>> {
    let rows = rows()?.into_iter();
    let family = rows.filter(|row| row.parent == parent || row.pid == parent);
    Ok(family.map(|row| row.pid).collect())
}

/// Ends the postmaster that runs on `data`, if any, and waits for its end.
pub(crate) fn quit_postmaster_of(data: &Path) {
    let Some(pid) = postmaster_of(data) else {
        return;
    };
    let _ = signal(pid, Signal::QUIT);
    let _ = wait_until(|| Ok(postmaster_of(data).is_none()));
}

/// Sends a signal. If the process has ended already, that is not an error.
pub(crate) fn signal(pid: i32, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pid) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match kill_process(pid, signal) {
        Err(rustix::io::Errno::SRCH) => Ok(()),
        sent => Ok(sent?),
    }
}

/// The process id in postmaster.pid, if that process is still a server on this folder. The check is
/// needed because the system may have given the id to another process.
pub(crate) fn postmaster_of(data: &Path) -> Option<i32> {
    let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid = file.lines().next()?.trim().parse().ok()?;
    command_line(pid)?.contains(data.to_str()?).then_some(pid)
}

fn is_stopped(row: &Row, pid: i32) -> bool {
    // A dead postmaster forks no children either.
    row.pid == pid && "TZ".contains(row.state)
}

fn wait_until(mut done: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let started = Instant::now();
    while !done()? {
        if started.elapsed() > PATIENCE {
            return Err(io::Error::other(
                "the server's processes do not obey signals",
            ));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// All processes of this machine. On Linux they are read from /proc, because slim containers have
/// no `ps`.
fn rows() -> io::Result<Vec<Row>> {
    if !cfg!(target_os = "linux") {
        let output = Command::new("ps")
            .args(["-A", "-o", "pid=,ppid=,stat="])
            .output()?;
        return Ok(String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(ps_row)
            .collect());
    }
    let entries = fs::read_dir("/proc")?.flatten();
    Ok(entries
        .filter_map(|entry| proc_row(&entry.path().join("stat")))
        .collect())
}

fn ps_row(line: &str) -> Option<Row> {
    let mut fields = line.split_whitespace();
    let pid = fields.next()?.parse().ok()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Row {
        pid,
        parent,
        state: fields.next()?.chars().next()?,
    })
}

/// Parses `pid (name) state parent ..`. The name may contain spaces and parentheses.
fn proc_row(stat: &Path) -> Option<Row> {
    let line = fs::read_to_string(stat).ok()?;
    let pid = line.split(' ').next()?.parse().ok()?;
    let (_, rest) = line.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    Some(Row {
        pid,
        parent: fields.next()?.parse().ok()?,
        state,
    })
}

fn command_line(pid: i32) -> Option<String> {
    if cfg!(target_os = "linux") {
        let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        return Some(String::from_utf8_lossy(&words).into_owned());
    }
    let output = Command::new("ps")
        .args(["-o", "command=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
