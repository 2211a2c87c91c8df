//! The demo server's command.

mod allocator;
mod log;

use std::process::ExitCode;

use clap::Parser;
use demo_server::{Command, Server, Settings};

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
    let arguments = Arguments::parse();
    let format = arguments.settings.log_format;
    log::begin(format);
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
            log::failure(format, &failed);
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
    tracing::info!("stopping: finishing the requests in progress");
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
