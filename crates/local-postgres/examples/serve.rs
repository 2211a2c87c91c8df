//! Runs a PostgreSQL until Ctrl-C. Its URL is the only line on standard output.

use std::process::ExitCode;

use local_postgres::{LocalPostgres, Options};

#[tokio::main]
async fn main() -> ExitCode {
    let server = match LocalPostgres::start(Options::default()).await {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", server.url());
    match tokio::signal::ctrl_c().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
