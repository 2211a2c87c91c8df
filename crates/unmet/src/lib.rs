#![doc = include_str!("../README.md")]

mod run;

use std::io::Write as _;

pub use run::Run;

/// The variable that names the tools that may be missing.
pub const VARIABLE: &str = "REGISTRAR_MAY_LACK";

/// Returns `found`. If it is `None`, notes that the calling test did not run because `tool` is missing.
/// Call this from the test's own thread, whose name is the test's.
///
/// # Panics
/// If `tool` is missing, [`VARIABLE`] is set and its words do not include `tool`.
#[must_use]
#[track_caller]
pub fn need<T>(tool: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        let allowed = std::env::var(VARIABLE).ok();
        assert!(
            may_lack(tool, allowed.as_deref()),
            "this test needs {tool}, and {VARIABLE} does not let it be missing"
        );
        note(tool);
    }
    found
}

fn may_lack(tool: &str, allowed: Option<&str>) -> bool {
    allowed.is_none_or(|allowed| allowed.split_whitespace().any(|one| one == tool))
}

fn note(tool: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("{test} needs {tool}");
    // Not `eprintln!`, whose output the test harness keeps to itself if the test passes.
    let _ = writeln!(std::io::stderr(), "not run: {line}");
    Run::of_this_process().add(&line);
}
