//! A PgBouncer in transaction mode in front of a server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::Certificates;
use crate::process::supervised::Supervised;

/// The tests have more clients than this, so that clients share sessions of the server.
const SESSIONS: usize = 6;

/// A PgBouncer process. It ends when the value is dropped or the test process ends.
pub struct PgBouncer {
    /// Ends the process when it is dropped.
    _process: Supervised,
    address: String,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts a pooler in front of the server at `url`, which has the form
    /// `scheme://user:password@host:port/database`. Returns `None` if PgBouncer is not installed.
    ///
    /// # Panics
    /// If PgBouncer is installed and can't be started.
    pub async fn start(url: &str) -> Option<Self> {
        Self::start_with(url, None).await
    }

    /// As [`start`](Self::start), for clients that encrypt.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn start_encrypting(url: &str, certificates: &Certificates) -> Option<Self> {
        Self::start_with(url, Some(certificates)).await
    }

    async fn start_with(url: &str, certificates: Option<&Certificates>) -> Option<Self> {
        let program = [
            "/usr/sbin/pgbouncer",
            "/usr/bin/pgbouncer",
            "/opt/homebrew/bin/pgbouncer",
        ]
        .into_iter()
        .find(|program| Path::new(program).exists())?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = free_port();
        let configuration = folder.path().join("pgbouncer.ini");
        let mut settings = settings(url, port);
        let [certificate, key] = ["server.pem", "server.key"].map(|name| folder.path().join(name));
        if let Some(certificates) = certificates {
            let [from, from_key] = certificates.server();
            fs::copy(from, &certificate).expect("the file can be written");
            fs::copy(from_key, &key).expect("the file can be written");
            settings += &encryption(&certificate, &key);
        }
        fs::write(&configuration, settings).expect("the file can be written");
        // Started as root, PgBouncer switches to another user, who must be able to read the files.
        let files = [configuration.as_path(), &certificate, &key];
        let files = files.into_iter().filter(|file| file.exists());
        for path in files.chain([folder.path()]) {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
                .expect("the test owns the file");
        }
        let mut shell = Command::new("sh");
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Supervised::start(shell, Path::new(program), |command| {
            if is_root() {
                command.args(["--user", "postgres"]);
            }
            command.arg(&configuration);
        });
        let bouncer = Self {
            _process: process.expect("sh can run"),
            address: format!("127.0.0.1:{port}"),
            _folder: folder,
        };
        while TcpStream::connect(&bouncer.address).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
        Some(bouncer)
    }

    /// The URL of a database of the server, through this pooler.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.address)
    }
}

impl std::fmt::Debug for PgBouncer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PgBouncer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self")
        .is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

fn settings(url: &str, port: u16) -> String {
    let (user, rest) = url.split_once('@').expect("the URL has a user");
    let user = user.rsplit('/').next().expect("the URL has a scheme");
    let login = match user.split_once(':') {
        Some((user, password)) => format!("user={user} password={password}"),
        None => format!("user={user}"),
    };
    let (server, _) = rest.split_once('/').expect("the URL has a database");
    let (host, server_port) = server.split_once(':').expect("the URL has a port");
    format!(
        "[databases]\n* = host={host} port={server_port} {login}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = transaction\ndefault_pool_size = {SESSIONS}\n\
         max_client_conn = 1000\nlog_connections = 0\nlog_disconnections = 0\n"
    )
}

fn encryption(certificate: &Path, key: &Path) -> String {
    format!(
        "client_tls_sslmode = require\nclient_tls_cert_file = {}\nclient_tls_key_file = {}\n",
        certificate.display(),
        key.display()
    )
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound address").port()
}
