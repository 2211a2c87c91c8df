//! `compare <run> <run>` sets two saved runs side by side; `compare --bench append <revision>
//! <revision>` measures two revisions in turns.

use bench::compare::{Comparison, Revisions, measure_revisions};
use bench::{Error, TargetRun, runs_folder};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// Compares two saved runs, or two revisions measured in turns.
#[derive(Parser)]
struct Arguments {
    /// A folder of target/registrar-bench, or with --bench a revision.
    before: String,
    /// The other.
    after: String,
    /// Measure this bench target of two revisions.
    #[arg(long)]
    bench: Option<String>,
    /// Only rows whose name has this in it.
    #[arg(long, requires = "bench")]
    filter: Option<String>,
    /// How often each revision is measured.
    #[arg(long, default_value_t = 6, requires = "bench")]
    rounds: usize,
}

fn main() -> ExitCode {
    match compare(Arguments::parse()) {
        Ok(comparison) => {
            println!("{}", comparison.table().markdown());
            for row in &comparison.missing {
                println!("only on one side: {row}");
            }
            println!("{}", comparison.summary());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: Arguments) -> Result<Comparison, Error> {
    let Arguments { before, after, .. } = arguments;
    match arguments.bench {
        Some(target) => {
            let revisions = Revisions {
                before,
                after,
                target,
                filter: arguments.filter,
                rounds: arguments.rounds,
            };
            measure_revisions(&revisions, &runs_folder().join("revisions"))
        }
        None => {
            let before = TargetRun::load_all(Path::new(&before))?;
            Comparison::of_runs(&before, &TargetRun::load_all(Path::new(&after))?)
        }
    }
}
