//! The server as a program, for the binary `demo-server` and for `registrar serve`.

use std::process::ExitCode;

use crate::{Command, Server, Settings, allocator, log};

/// HTTP interfaces of an event store, a message store and a time-series engine on one address.
///
/// By default, all data is in SQLite files and a time-series log in a data folder.
#[derive(Clone, clap::Parser)]
#[command(name = "demo-server", version)]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Runs the server until Ctrl-C or SIGTERM, or the command. Sets up the log, the allocator and the runtime,
/// so call it at the start of the process, before there are other threads.
pub fn main(arguments: Arguments) -> ExitCode {
    allocator::share_arenas();
    start(arguments)
}

#[tokio::main]
async fn start(arguments: Arguments) -> ExitCode {
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
    allocator::return_freed_memory()?;
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
