use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;
use umadb_client::{AsyncUmaDbClient, UmaDbClient};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Backend {
    Sqlite,
    Postgres,
}

/// A running demo-server with an empty store. It ends with this value.
pub(crate) struct Server {
    process: Child,
    /// Open, because the server writes more than its addresses.
    _stdout: BufReader<ChildStdout>,
    _folder: TempDir,
    port: u16,
}

impl Server {
    pub(crate) fn start(backend: Backend) -> Self {
        Self::with(backend, &[])
    }

    /// With more options.
    pub(crate) fn with(backend: Backend, options: &[&str]) -> Self {
        let program = std::env::var("DEMO_SERVER").expect("DEMO_SERVER names the program");
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command
            .args(["--test-mode", "--port", "0", "--grpc-port", "0", "--data"])
            .arg(folder.path())
            .args(options)
            .stdout(Stdio::piped());
        if let Backend::Postgres = backend {
            command.arg("--local-postgres");
        }
        let mut process = command.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        let port = loop {
            line.clear();
            let read = stdout.read_line(&mut line).unwrap();
            assert!(read > 0, "demo-server did not start; its log says why");
            if let Some(address) = line.strip_prefix("gRPC: ") {
                break address.trim().rsplit(':').next().unwrap().parse().unwrap();
            }
        };
        Self {
            process,
            _stdout: stdout,
            _folder: folder,
            port,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// For the certificate of `localhost`.
    pub(crate) fn secure_url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// A client with its own connection.
    pub(crate) async fn client(&self) -> AsyncUmaDbClient {
        UmaDbClient::new(self.url()).connect_async().await.unwrap()
    }

    /// A client that asks for pages of this many events.
    pub(crate) async fn client_by(&self, page: u32) -> AsyncUmaDbClient {
        let client = UmaDbClient::new(self.url()).batch_size(page);
        client.connect_async().await.unwrap()
    }

    /// Asks the server to stop, as a service manager does.
    pub(crate) fn terminate(&self) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").arg(id).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
