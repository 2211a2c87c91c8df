//! Loads a dataset into an event store on PostgreSQL.

use std::process::ExitCode;

use clap::Parser;
use course_enrollment::{Dataset, DatasetCache, Error, Progress, load};
use dcb_core::EventStore as _;
use dcb_core::postgres::{Config, PostgresStore};
use indicatif::{ProgressBar, ProgressStyle};

/// Number of events in a commit: the most that a store accepts by default.
const BATCH: usize = 1_000;

/// Loads a course-enrollment dataset into an event store on PostgreSQL. Loading it again changes
/// nothing. After an interruption, loading continues with the missing events.
#[derive(Parser)]
struct Arguments {
    /// tiny, small, medium or large.
    #[arg(required_unless_present = "list")]
    dataset: Option<Dataset>,
    /// The database, as postgres://user:password@host:port/name.
    #[arg(
        long,
        env = "DATABASE_URL",
        hide_env_values = true,
        required_unless_present = "list"
    )]
    database_url: Option<String>,
    /// The schema of the event log, if it is not the default one.
    #[arg(long)]
    schema: Option<String>,
    /// Print the datasets with their sizes and digests, and exit.
    #[arg(long)]
    list: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse() {
        Arguments {
            list: false,
            dataset: Some(dataset),
            database_url: Some(url),
            schema,
        } => load_into_database(dataset, &url, schema).await,
        _ => {
            list();
            Ok(())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn list() {
    println!(
        "{:<7} {:>7} {:>8} {:>11}  SHA-256",
        "name", "courses", "students", "enrollments"
    );
    for dataset in Dataset::ALL {
        let size = dataset.size();
        println!(
            "{dataset:<7} {:>7} {:>8} {:>11}  {}",
            size.courses,
            size.students,
            size.enrollments_asked,
            dataset.digest(),
        );
    }
}

async fn load_into_database(
    dataset: Dataset,
    url: &str,
    schema: Option<String>,
) -> Result<(), Error> {
    let mut config = Config::new(url);
    if let Some(schema) = schema {
        config = config.schema(schema);
    }
    let store = PostgresStore::connect(config).await?;
    let content = DatasetCache::of_user()?.get(dataset)?;
    let bar = ProgressBar::new(content.event_count() as u64).with_style(style());
    let report = |progress: Progress| bar.set_position(progress.loaded as u64);
    load(&content, &store, BATCH, report).await?;
    bar.finish();
    println!("{dataset} is loaded: {} events", content.event_count());
    store.close().await;
    Ok(())
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} events, {per_sec}, {eta} left")
        .expect("the template is well-formed")
}
