//! A Prometheus that scrapes the server.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::program::{Program, free_port};

/// A running Prometheus. Dropping it kills it.
pub(crate) struct Prometheus {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// One that scrapes the server five times a second; `None` if it is not installed. `settings` are lines of
    /// the job, such as its path.
    pub(crate) fn start(server: &Program, settings: &str) -> Option<Self> {
        let (folder, port) = (tempfile::tempdir().expect("the folder exists"), free_port());
        let file = folder.path().join("prometheus.yml");
        let scrape = format!(
            "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\nscrape_configs:\n\
             - job_name: registrar\n{settings}  static_configs:\n  - targets: ['{}']\n",
            server.address()
        );
        fs::write(&file, scrape).expect("it is written");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Some(Self {
            child: unmet::need("prometheus", child.ok())?,
            port,
            _folder: folder,
        })
    }

    /// The answer to a query; `None` while Prometheus starts.
    pub(crate) fn ask(&self, query: &str) -> Option<Value> {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let head = format!("GET /api/v1/query?query={query} HTTP/1.0\r\nhost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
