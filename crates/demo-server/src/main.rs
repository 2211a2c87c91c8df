//! The demo server's command.

use std::process::ExitCode;

use clap::Parser as _;
use demo_server::{Server, Settings};
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    match run(Settings::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            eprintln!("{failed}");
            ExitCode::FAILURE
        }
    }
}

async fn run(settings: Settings) -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(settings).await?;
    // Heard before it is told: who reads that the server runs may stop it at once.
    let stopped = stop_signal()?;
    println!("{}", server.greeting());
    stopped.await;
    eprintln!("stopping: requests under way are answered first");
    server.stop().await;
    Ok(())
}

/// Ctrl-C, or the signal by which service managers and containers stop a program, from the call on.
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
