//! Runs a command: its runtime, its signals and its exit code.

use std::process::ExitCode;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use crate::arguments::Tool;
use crate::failure::{Failure, Kind};
use crate::output::Output;

/// How long a stopped command may take to close what it has open.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// Tells a command that follows something to end.
pub(crate) type Stop = watch::Receiver<bool>;

pub(crate) fn run(tool: Tool, json: bool) -> ExitCode {
    begin_log();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(failed) => return report(&failed.into(), json),
    };
    let ended = runtime.block_on(run_until_stopped(tool, json));
    // A thread that reads the terminal would wait for another line.
    runtime.shutdown_timeout(STOP_LIMIT);
    match ended {
        Ended::Done => ExitCode::SUCCESS,
        Ended::Failed(failed) => report(&failed, json),
        Ended::Stopped(signal) => ExitCode::from(128 + signal),
        Ended::Panicked => ExitCode::from(101),
    }
}

enum Ended {
    Done,
    Failed(Failure),
    /// By the signal with this number.
    Stopped(u8),
    Panicked,
}

async fn run_until_stopped(tool: Tool, json: bool) -> Ended {
    let mut signals = match Signals::new() {
        Ok(signals) => signals,
        Err(failed) => return Ended::Failed(failed.into()),
    };
    let (stopping, stop) = watch::channel(false);
    let ends_itself = tool.ends_itself();
    // In a task, because a command may block its thread while it reads a file.
    let mut work = tokio::spawn(async move {
        let mut output = Output::new(json);
        tool.run(&mut output, stop).await?;
        Ok::<(), Failure>(output.flush()?)
    });
    loop {
        tokio::select! {
            ended = &mut work => return match ended {
                Ok(Ok(())) => Ended::Done,
                Ok(Err(failed)) => Ended::Failed(failed),
                Err(_) => Ended::Panicked,
            },
            signal = signals.next() => {
                // A second signal ends every command.
                if ends_itself && !stopping.send_replace(true) {
                    continue;
                }
                work.abort();
                return Ended::Stopped(signal);
            }
        }
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The number of the next signal.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 2,
            _ = self.terminate.recv() => 15,
        }
    }
}

fn report(failed: &Failure, json: bool) -> ExitCode {
    if failed.kind != Kind::NoReader {
        let (kind, code) = (failed.kind.name(), failed.kind.exit_code());
        match json {
            true => {
                let message = failed.to_string();
                let error = serde_json::json!({"kind": kind, "code": code, "message": message});
                eprintln!("{}", serde_json::json!({"error": error}));
            }
            false => eprintln!("registrar: {failed}"),
        }
    }
    ExitCode::from(failed.kind.exit_code())
}

/// Warnings of the stores go to the standard error output. `RUST_LOG` asks for more.
fn begin_log() {
    // PostgreSQL's notices: `CREATE .. IF NOT EXISTS` sends one whenever the object exists.
    const LOGGED: &str = "warn,sqlx::postgres::notice=off";
    let asked = std::env::var(EnvFilter::DEFAULT_ENV).unwrap_or_else(|_| LOGGED.to_owned());
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(asked))
        .with_ansi(console::colors_enabled_stderr())
        .with_writer(std::io::stderr)
        .init();
}
