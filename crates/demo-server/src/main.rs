//! The demo server's command.

mod allocator;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;
use demo_server::{Command, Server, Settings};
use tracing_subscriber::EnvFilter;

/// The log without `RUST_LOG`.
const LOGGED: &str = "warn,demo_server=info";
/// What PostgreSQL tells about each statement that changes nothing, such as `CREATE .. IF NOT EXISTS`.
/// Only a directive for this very target turns it on.
const MUTED: &str = "sqlx::postgres::notice=off";

/// HTTP interfaces of an event store, a message store and a time-series engine on one address.
///
/// By default, all data is in SQLite files and a time-series log in a data folder.
#[derive(Parser)]
#[command(name = "demo-server", version)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Option<Command>,
}

fn main() -> ExitCode {
    allocator::share_arenas();
    start()
}

#[tokio::main]
async fn start() -> ExitCode {
    // Logs go to stderr: scripts read the address from stdout.
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_else(|_| LOGGED.to_owned());
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{MUTED},{asked}")))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    let arguments = Arguments::parse();
    let ran = match arguments.command {
        None => run(arguments.settings).await,
        Some(command) => {
            let ran = command.run(&arguments.settings).await;
            ran.map(|report| print!("{report}"))
        }
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{failed}");
            ExitCode::FAILURE
        }
    }
}

async fn run(settings: Settings) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(settings).await?;
    // Install the handler before printing: the reader of the greeting may stop the server at once.
    let stopped = stop_signal()?;
    println!("{}", server.greeting());
    stopped.await;
    eprintln!("stopping: finishing the requests in progress");
    server.stop().await;
    Ok(())
}

/// Installs the handlers now; the future ends at Ctrl-C or SIGTERM.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
