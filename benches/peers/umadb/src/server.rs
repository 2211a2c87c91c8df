//! Starts and stops the server, a second process.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use umadb_client::{AsyncUmaDbClient, UmaDbClient};
use umadb_dcb::{DcbError, DcbEventStoreAsync as _};
use umadb_server::{ServerOptions, StorageOptions, start_server_with_options};

/// How often a client looks for a server that starts, and how long it waits between.
const LOOKS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(100);

/// A running server. It ends with this value, and with its stdin if the process is killed.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// UmaDB's.
    pub(crate) fn umadb(folder: &Path) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("server").arg(folder);
        Self::start(command)
    }

    /// Ours, over the store at this URL.
    pub(crate) fn ours(url: &str) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?.with_file_name("peer-ours"));
        command.arg("serve").arg(url);
        Self::start(command)
    }

    /// Starts a server that takes its port as its last argument.
    fn start(mut command: Command) -> io::Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let process = command
            .arg(port.to_string())
            .stdin(Stdio::piped())
            // Stdout belongs to the protocol.
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { process, port })
    }

    pub(crate) async fn connect(&self) -> Result<AsyncUmaDbClient, DcbError> {
        let url = format!("http://127.0.0.1:{}", self.port);
        let mut looks = 0;
        loop {
            looks += 1;
            let connected = UmaDbClient::new(url.clone()).connect_async().await;
            let failed = match connected {
                Ok(client) => match client.head().await {
                    Ok(_) => return Ok(client),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if looks == LOOKS {
                return Err(failed);
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves until stdin ends.
#[tokio::main]
pub(crate) async fn serve(folder: &str, port: &str) -> io::Result<()> {
    let options = ServerOptions {
        listen_addr: format!("127.0.0.1:{port}"),
        tls: None,
        api_key: None,
        storage: StorageOptions::default().db_path(folder),
    };
    let (ended, shutdown) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // The end of stdin, or an error: the peer has gone.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    start_server_with_options(options, shutdown)
        .await
        .map_err(|error| io::Error::other(error.to_string()))
}
