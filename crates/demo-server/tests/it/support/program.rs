//! The server as a process, for tests of what only a process has.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running server. Dropping it kills it.
pub(crate) struct Program {
    child: Child,
    address: SocketAddr,
    /// Kept open, because the server ends if it can't write its greeting.
    _output: BufReader<ChildStdout>,
}

/// The command of a server in test mode on a free port.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-server"));
    command.args(["--test-mode", "--port", "0"]);
    with_own_settings(command)
}

/// Like [`command`], after a line of shell that may mount file systems at the folder `$1`. Other
/// processes don't see what it mounts. `None` if this computer does not allow that.
pub(crate) fn command_after(mount: &str, folder: &Path) -> Option<Command> {
    let in_namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]);
        command.arg(env!("CARGO_BIN_EXE_demo-server")).arg(folder);
        with_own_settings(command)
    };
    let tried = in_namespace(mount).status();
    let mounts = tried.is_ok_and(|status| status.success());
    unmet::need("mount", mounts.then_some(()))?;
    let script = format!(r#"{mount} && exec "$0" --test-mode --port 0 --data "$1/data""#);
    Some(in_namespace(&script))
}

fn with_own_settings(mut command: Command) -> Command {
    command.env_remove("DATABASE_URL").env_remove("RUST_LOG");
    command
}

/// A port that no server listens on.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it is bound").port()
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = child.stdout.take().expect("the output is piped");
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).expect("the greeting is text");
        let address = line.trim().trim_start_matches("http://").parse();
        Self {
            child,
            address: address.expect("the greeting begins with the address"),
            _output: output,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request. Returns the status and the body.
    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        self.send(method, path, "", body.as_bytes())
    }

    /// Like [`Program::call`], with further lines of the head.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: &[u8],
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).expect("the server accepts");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n",
            body.len()
        );
        let sent = stream.write_all(&[head.as_bytes(), body].concat());
        sent.expect("the request is sent");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("the server answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("the head is complete");
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.expect("the status is a number"), body.to_owned())
    }

    /// A file as the server sees it, or about the server in `/proc`.
    pub(crate) fn path(&self, below_proc: impl AsRef<Path>) -> PathBuf {
        Path::new("/proc")
            .join(self.child.id().to_string())
            .join(below_proc)
    }

    /// Stops the server by a signal. Returns what it wrote to its log.
    pub(crate) fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.expect("kill runs").success());
        let mut log = String::new();
        let errors = self.child.stderr.take().expect("the log is piped");
        BufReader::new(errors)
            .read_to_string(&mut log)
            .expect("the log is text");
        let ended = self.child.wait().expect("the server ends");
        assert!(ended.success(), "{ended}: {log}");
        log
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After `stop`, there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
