//! `compare <run> <run>` compares two saved runs, first their ratios to floors; `compare --bench append <revision> <revision>`
//! measures two revisions, which take turns.

use bench::compare::{Comparison, Revisions, Travel, measure_revisions};
use bench::{Error, TargetRun, runs_folder};
use clap::Parser;
use std::path::Path;
use std::process::ExitCode;

/// Compares two saved runs, or two revisions measured in turns.
#[derive(Parser)]
struct Arguments {
    /// A run folder in target/registrar-bench; with --bench, a git revision.
    before: String,
    /// The run or revision to compare it with.
    after: String,
    /// Measure two revisions: a bench program such as events, or one target of it such as append.
    #[arg(long)]
    bench: Option<String>,
    /// Measure only rows whose name matches this regular expression.
    #[arg(long, requires = "bench")]
    filter: Option<String>,
    /// The number of runs per revision.
    #[arg(long, default_value_t = 6, requires = "bench")]
    rounds: usize,
}

fn main() -> ExitCode {
    match compare(Arguments::parse()) {
        Ok(comparison) => {
            println!("{}", comparison.table().markdown());
            for row in &comparison.missing {
                println!("measured on one side only: {row}");
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
            let after = TargetRun::load_all(Path::new(&after))?;
            // Times of two machines can't be compared, but ratios can.
            match Travel::of_runs(&before, &after) {
                Some(travel) => println!("{travel}\n"),
                None => println!("no row has a floor in both runs\n"),
            }
            Comparison::of_runs(&before, &after)
        }
    }
}
