//! A PgBouncer in transaction mode in front of a server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Fewer sessions than the tests have clients, so that they really share them.
const SESSIONS: usize = 6;

/// Runs a command until its standard input ends: as a value that a `static` holds is never dropped,
/// the end of the process that holds the other end of the pipe ends the pooler too, however it comes.
const UNTIL_INPUT_ENDS: &str = r#""$0" "$@" & cat > /dev/null; kill $!; wait"#;

/// A pooler process, ended with its value or with the process.
pub(crate) struct PgBouncer {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl PgBouncer {
    /// In front of the server of this URL, which has the form
    /// `scheme://user:password@host:port/database`. `None`, with a line that says so, where
    /// PgBouncer is not installed.
    pub(crate) async fn start(url: &str) -> Option<Self> {
        let Some(program) = [
            "/usr/sbin/pgbouncer",
            "/usr/bin/pgbouncer",
            "/opt/homebrew/bin/pgbouncer",
        ]
        .into_iter()
        .find(|program| Path::new(program).exists()) else {
            eprintln!("PgBouncer is not installed: its settings are tested without it");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let configuration = folder.path().join("pgbouncer.ini");
        fs::write(&configuration, settings(url, port)).expect("a file");
        // As root it changes to another user, who must be able to read it.
        for path in [folder.path(), &configuration] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let mut command = Command::new("sh");
        command.args(["-c", UNTIL_INPUT_ENDS, program]);
        if fs::metadata("/proc/self")
            .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
        {
            command.args(["--user", "postgres"]);
        }
        let process = command
            .arg(&configuration)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell runs");
        let bouncer = Self {
            process,
            address: format!("127.0.0.1:{port}"),
            _folder: folder,
        };
        while TcpStream::connect(&bouncer.address).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
        Some(bouncer)
    }

    /// A database of the server, through this pooler.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.address)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn settings(url: &str, port: u16) -> String {
    let (user, rest) = url.split_once('@').expect("a user");
    let user = user.rsplit('/').next().expect("a scheme before it");
    let login = match user.split_once(':') {
        Some((user, password)) => format!("user={user} password={password}"),
        None => format!("user={user}"),
    };
    let (server, _) = rest.split_once('/').expect("a database");
    let (host, server_port) = server.split_once(':').expect("a port");
    format!(
        "[databases]\n* = host={host} port={server_port} {login}\n\
         [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = transaction\ndefault_pool_size = {SESSIONS}\n\
         max_client_conn = 1000\nlog_connections = 0\nlog_disconnections = 0\n"
    )
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
