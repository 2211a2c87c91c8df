//! Runs a PostgreSQL until Ctrl-C. Its URL is the only line on standard output.

use std::process::ExitCode;

use local_postgres::{LocalPostgres, Options};

#[tokio::main]
async fn main() -> ExitCode {
    // Listen before printing the URL: a program that reads the URL may send Ctrl-C at once.
    let stopped = tokio::spawn(tokio::signal::ctrl_c());
    let server = match LocalPostgres::start(Options::default()).await {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", server.url());
    match stopped.await.unwrap_or_else(|failed| Err(failed.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
