//! Processes that are killed while they write, in each durability mode.
//!
//! The child is this test program, started again with an environment variable. It prints the writes
//! that have returned.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use conformance_suite::{effort, effort_up_to};
use rand::Rng;
use tsdb::{Db, Durability, Error, OpenOptions, Sample};

use crate::support::{dump, labels};

const FOLDER: &str = "TSDB_CRASH_FOLDER";
const MODE: &str = "TSDB_CRASH_MODE";

/// The number of series that the child writes to in turn.
const SERIES: i64 = 4;

fn options(mode: &str) -> OpenOptions {
    OpenOptions {
        durability: match mode {
            "unsynced" => Durability::Unsynced,
            "periodic" => Durability::Periodic(Duration::from_millis(5)),
            "write-through" => Durability::WriteThrough {
                sync_every: Some(Duration::from_millis(5)),
            },
            _ => Durability::Commit,
        },
        segment_bytes: 20_000,
        snapshot_after_bytes: Some(50_000),
        ..OpenOptions::default()
    }
}

/// The sample with this number.
fn sample(number: i64) -> Sample {
    Sample::new(number * 10, number as f64 / 4.0)
}

/// Checks that the database has a prefix of the samples, and returns its length.
fn kept(db: &Db) -> i64 {
    let mut numbers: Vec<i64> = Vec::new();
    for (labels, samples) in dump(db) {
        for (timestamp_ms, bits) in samples {
            let number = timestamp_ms / 10;
            assert_eq!(sample(number).value.to_bits(), bits, "{labels}");
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    let wanted: Vec<i64> = (0..numbers.len() as i64).collect();
    assert!(numbers == wanted, "samples are missing or duplicated");
    numbers.len() as i64
}

/// The work of the child process. Does nothing when the test harness runs it as a test.
#[test]
fn child() -> Result<(), Error> {
    let (Ok(folder), Ok(mode)) = (std::env::var(FOLDER), std::env::var(MODE)) else {
        return Ok(());
    };
    let db = Db::open(folder, options(&mode))?;
    let mut out = std::io::stdout().lock();
    for number in kept(&db).. {
        // Only modes whose calls wait for the log keep the samples of several series in order. In the
        // other modes the child writes a single series, so that a crash keeps a prefix.
        let series = match mode.as_str() {
            "commit" | "write-through" => number % SERIES,
            _ => 0,
        };
        db.append(&labels(series as usize), sample(number))?;
        if mode == "periodic" && number % 100 == 0 {
            db.sync()?;
        }
        let synced = match mode.as_str() {
            "periodic" => number - number % 100,
            _ => number,
        };
        writeln!(out, "\nwritten {}", synced + 1).expect("the parent reads the output");
    }
    Ok(())
}

/// Starts a child, kills it after this many reports, and returns the number in the last report.
fn killed_child(folder: &Path, mode: &str, reports: usize) -> i64 {
    let program = std::env::current_exe().expect("the path of this program");
    let mut child = Command::new(program)
        .args(["crash::child", "--exact", "--nocapture"])
        .env(FOLDER, folder)
        .env(MODE, mode)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let out = BufReader::new(
        child
            .stdout
            .take()
            .expect("the output of the child is piped"),
    );
    let mut last = 0;
    let mut seen = 0;
    for line in out.lines() {
        let line = line.expect("text");
        if let Some(number) = line.strip_prefix("written ") {
            // The kill may cut the last line short. A number that lost digits is smaller than the
            // number before.
            last = number.parse().unwrap_or(last).max(last);
            seen += 1;
            if seen == reports {
                // SIGKILL: no destructor runs.
                child.kill().expect("the child is killed");
            }
        }
    }
    child.wait().expect("the child exits");
    last
}

fn kill_again_and_again(mode: &str, loses_nothing: bool) -> Result<(), Error> {
    let folder = tempfile::tempdir().expect("a folder");
    // A commit waits for the disk, so usually a child makes fewer of them.
    let max_reports = match mode {
        "commit" => effort_up_to(400, 1_500),
        _ => 1_500,
    };
    let mut before = 0;
    for round in 0..effort(6) {
        let reports = rand::rng().random_range(1..max_reports);
        let reported = killed_child(folder.path(), mode, reports);
        let db = Db::open(folder.path(), options(mode))?;
        let kept = kept(&db);
        println!("round {round}: killed after {reports}, {reported} reported, {kept} kept");
        assert!(kept >= before, "an earlier run kept more");
        if loses_nothing {
            assert!(kept >= reported, "{kept} of {reported}");
        }
        before = kept;
    }
    Ok(())
}

#[test]
fn commit_mode_keeps_reported_writes_after_kill() -> Result<(), Error> {
    kill_again_and_again("commit", true)
}

#[test]
fn write_through_mode_keeps_reported_writes_after_kill() -> Result<(), Error> {
    kill_again_and_again("write-through", true)
}

#[test]
fn periodic_mode_keeps_synced_writes_after_kill() -> Result<(), Error> {
    kill_again_and_again("periodic", true)
}

#[test]
fn unsynced_mode_keeps_prefix() -> Result<(), Error> {
    kill_again_and_again("unsynced", false)
}
