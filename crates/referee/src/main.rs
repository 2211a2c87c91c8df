//! `referee`: races a program that speaks the line protocol.

mod disturb;

use clap::Parser;
use disturb::Disturbance;
use peer_protocol::{History, Promise, Race, Session};
use referee::check;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Findings that are printed of one race.
const PRINTED: usize = 20;

/// Races a store, and says what it saw that a right store can't do.
#[derive(Parser)]
struct Arguments {
    /// The seed of the first race; each race has the next one.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many races to run on the same log.
    #[arg(long, default_value_t = 3)]
    races: u64,
    /// Callers at a time.
    #[arg(long, default_value_t = 16)]
    callers: usize,
    /// Followers of the log.
    #[arg(long, default_value_t = 2)]
    followers: usize,
    /// Calls of each caller in one race.
    #[arg(long, default_value_t = 200)]
    calls: usize,
    /// Callers give up some appends before the answer.
    #[arg(long)]
    drops: bool,
    /// A shell command to run again and again during a race, such as one that kills the server. A read
    /// is tried again for a minute; an append that fails may be in the log or not.
    #[arg(long)]
    disturb: Option<String>,
    /// Milliseconds before the first such command, and after each.
    #[arg(long, default_value_t = 500)]
    every: u64,
    /// A file for the history of the first race with a finding.
    #[arg(long)]
    history: Option<PathBuf>,
    /// The program and its arguments.
    #[arg(required = true, last = true)]
    program: Vec<OsString>,
}

fn main() -> ExitCode {
    match races(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(reason) => {
            eprintln!("no verdict: {reason}");
            ExitCode::from(2)
        }
    }
}

/// Runs the races; false if one of them had a finding.
fn races(arguments: &Arguments) -> Result<bool, String> {
    let (program, rest) = arguments
        .program
        .split_first()
        .ok_or("no program was named")?;
    let (mut session, hello) = Session::start(program.as_ref(), rest)?;
    println!(
        "{} {}, promises {:?}",
        hello.name, hello.version, hello.promises
    );
    for seed in arguments.seed..arguments.seed + arguments.races {
        let every = Duration::from_millis(arguments.every);
        let disturbance = Disturbance::begin(arguments.disturb.as_deref(), every);
        let history = session.race(&Race {
            seed,
            callers: arguments.callers,
            followers: arguments.followers,
            calls: arguments.calls,
            repeats: hello.promises.contains(&Promise::Repeats),
            drops: arguments.drops,
        });
        let history = disturbance.end_of_race(history)?;
        let findings = check(&history, &hello.promises);
        println!(
            "seed {seed}: {} calls, {} events, {} findings",
            history.steps.len(),
            history.log.len(),
            findings.len()
        );
        if findings.is_empty() {
            continue;
        }
        for finding in findings.iter().take(PRINTED) {
            println!("  {finding}");
        }
        if let Some(file) = &arguments.history {
            save(&history, file)?;
        }
        return Ok(false);
    }
    Ok(true)
}

fn save(history: &History, file: &PathBuf) -> Result<(), String> {
    let text = serde_json::to_string(history).map_err(|error| error.to_string())?;
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
