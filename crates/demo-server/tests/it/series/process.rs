//! The server as a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server process. Dropping it kills the process.
pub(super) struct Process {
    child: Child,
    pub(super) address: SocketAddr,
    /// Kept open: the server writes its greeting line by line, and ends if it can't.
    _output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a server in test mode, with its data in `folder` and these options.
    pub(super) fn start(folder: &Path, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_demo-server"))
            .args(["--test-mode", "--port", "0"])
            .args(options)
            .arg("--data")
            .arg(folder)
            .env_remove("DATABASE_URL")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("the output is piped");
        let mut output = BufReader::new(output);
        output.read_line(&mut line).expect("the greeting is text");
        let address = line.trim().trim_start_matches("http://");
        let address = address
            .parse()
            .expect("the greeting begins with the address");
        Self {
            child,
            address,
            _output: output,
        }
    }

    /// The memory in use, in bytes; on Linux.
    #[allow(dead_code, reason = "only the target `memory` uses it")]
    pub(super) fn resident_bytes(&self) -> usize {
        self.status_bytes("VmRSS:")
    }

    /// The most memory that was in use so far, in bytes; on Linux.
    pub(super) fn peak_bytes(&self) -> usize {
        self.status_bytes("VmHWM:")
    }

    fn status_bytes(&self, name: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("the process runs");
        let mut fields = status.lines().filter_map(|line| line.strip_prefix(name));
        let kilobytes = fields.next().expect("the kernel reports it");
        let kilobytes = kilobytes.trim().trim_end_matches(" kB");
        1024 * kilobytes.parse::<usize>().expect("a number")
    }

    /// SIGKILL: no destructor of the server runs.
    pub(super) fn kill(self) {
        drop(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.child.kill().expect("the server is killed");
        self.child.wait().expect("the server ends");
    }
}
