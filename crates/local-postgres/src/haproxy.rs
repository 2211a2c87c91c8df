//! A HAProxy in front of servers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::process::port;
use crate::process::supervised::Supervised;

/// A HAProxy process. It ends when the value is dropped or the test process ends.
pub struct HaProxy {
    /// Ends the process when it is dropped.
    _process: Supervised,
    address: String,
    _folder: TempDir,
}

impl HaProxy {
    /// Starts a proxy that leads to the first of these servers that takes connections, and ends the
    /// connections to a server that stops to. The URLs have the form
    /// `scheme://user@host:port/database`. Returns `None` if HAProxy is not installed.
    ///
    /// # Panics
    /// If HAProxy is installed and can't be started.
    pub async fn start(urls: &[&str]) -> Option<Self> {
        let program = Path::new("/usr/sbin/haproxy");
        if !program.exists() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = format!("127.0.0.1:{}", port::free().expect("a free port"));
        let configuration = folder.path().join("haproxy.cfg");
        fs::write(&configuration, settings(&address, urls)).expect("the file can be written");
        let mut shell = Command::new("sh");
        shell.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Supervised::start(shell, program, |command| {
            command.args(["-db", "-f"]).arg(&configuration);
        });
        let proxy = Self {
            _process: process.expect("sh can run"),
            address,
            _folder: folder,
        };
        while TcpStream::connect(&proxy.address).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
        Some(proxy)
    }

    /// The URL of a server, through this proxy. The host keeps its name, which a certificate may have.
    pub fn url(&self, url: &str) -> String {
        let (before, server) = split(url);
        let (host, after) = server.split_once(':').expect("the URL has a port");
        let rest = after.find('/').map_or("", |at| &after[at..]);
        let (_, port) = self.address.split_once(':').expect("it has a port");
        format!("{before}@{host}:{port}{rest}")
    }
}

fn settings(address: &str, urls: &[&str]) -> String {
    let mut settings = format!(
        "global\n  maxconn 200\ndefaults\n  mode tcp\n  timeout connect 2s\n  timeout client 60s\n  \
         timeout server 60s\n  timeout check 1s\nlisten postgres\n  bind {address}\n  \
         default-server inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions\n"
    );
    for (number, url) in urls.iter().enumerate() {
        let (_, server) = split(url);
        let server = server.split('/').next().unwrap_or(server);
        let backup = if number == 0 { "" } else { " backup" };
        let _ = writeln!(settings, "  server s{number} {server} check{backup}");
    }
    settings
}

/// The parts before and after the `@`.
fn split(url: &str) -> (&str, &str) {
    url.split_once('@').expect("the URL has a user")
}

impl std::fmt::Debug for HaProxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("HaProxy")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
