//! The server under load: this program, started a second time as a separate process.

use bench::BoxError;
use bench::load::{Exchange, HttpConnection};
use clap::Parser as _;
use demo_server::{Server, Settings};
use std::any::Any;
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// The first argument of a program that should be the server.
const SERVE: &str = "serve-demo";
/// The time limit of an orderly stop.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// A server process. It ends when this value is dropped, or when the process that started it ends.
pub(crate) struct ServerProcess {
    child: Child,
    address: SocketAddr,
    /// The folder or database of its stores; dropped after it.
    _ground: Box<dyn Any + Send + Sync>,
}

impl ServerProcess {
    /// Starts a server on a free port in test mode, with additional options.
    pub(crate) async fn start(
        options: &[OsString],
        ground: impl Any + Send + Sync,
    ) -> Result<Self, BoxError> {
        // The server also reads settings from its environment. A run must not depend on them.
        let mut child = Command::new(std::env::current_exe()?)
            .arg(SERVE)
            .args(["--test-mode", "--port", "0"])
            .args(options)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take().ok_or("its output is not piped")?;
        let mut server = Self {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            _ground: Box::new(ground),
        };
        let first_line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).map(|_| line)
        });
        // The server prints its address when it accepts connections.
        let line = first_line.await??;
        server.address = line
            .trim()
            .parse()
            .map_err(|_| "the server did not start: see above")?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends one request on a new connection, for the set-up of a load.
    pub(crate) async fn ask(&self, exchange: Exchange) -> Result<(), BoxError> {
        let mut connection = HttpConnection::open(self.address).await?;
        let answer = connection.ask(&exchange).await?;
        match answer.status.as_u16() {
            200 => Ok(()),
            status => Err(format!("{exchange:?} was answered {status}").into()),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The server shuts down when its standard input is closed.
        drop(self.child.stdin.take());
        let given_up = Instant::now() + STOP_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > given_up {
                let _ = self.child.kill();
            }
            // `drop` cannot await, and std has no wait with a time limit.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Serves until the input ends, if the arguments ask for a server.
pub(crate) fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != SERVE {
        return None;
    }
    let settings = Settings::parse_from(std::iter::once("demo-server".into()).chain(arguments));
    Some(match serve(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

#[tokio::main]
async fn serve(settings: Settings) -> Result<(), BoxError> {
    // Ctrl-C reaches every process of the terminal. The server ignores the signal: its parent ends
    // it once the run has unwound.
    let mut pressed = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    let server = Server::start(settings).await?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", server.address())?;
    output.flush()?;
    let mut input_ends = tokio::task::spawn_blocking(|| {
        std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()).map(drop)
    });
    loop {
        tokio::select! {
            ended = &mut input_ends => break ended??,
            _ = pressed.recv() => {}
        }
    }
    server.stop().await;
    Ok(())
}
