//! The server under load, in a process of its own: this program, started a second time.

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

/// The first argument of a program that is to be the server.
const SERVE: &str = "serve-demo";
/// How long it may take to stop in order.
const STOP_LIMIT: Duration = Duration::from_secs(15);

/// A server that ends with this value, or with the process that started it.
pub(crate) struct ServerProcess {
    child: Child,
    address: SocketAddr,
    /// What its stores are in, dropped after it.
    _place: Box<dyn Any + Send + Sync>,
}

impl ServerProcess {
    /// Starts one on a free port in test mode, with these options besides.
    pub(crate) async fn start(
        options: &[OsString],
        place: impl Any + Send + Sync,
    ) -> Result<Self, BoxError> {
        // Its settings are these options, whatever this process's environment says.
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
            _place: Box::new(place),
        };
        let first_line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).map(|_| line)
        });
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

    /// Asks once, on a connection of its own: the set-up of a load.
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
        // The end of its input stops it in order.
        drop(self.child.stdin.take());
        let given_up = Instant::now() + STOP_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > given_up {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Serves until the input ends, where the arguments ask for it.
pub(crate) fn serve_where_asked() -> Option<ExitCode> {
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
    // Ctrl-C reaches every process of the terminal. Whoever started this one ends it.
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
