//! The service as a process: a signal stops it, and what was answered is there after the next start.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running service, its address and the rest of its log.
struct Running {
    child: Child,
    address: String,
    log: BufReader<ChildStdout>,
}

impl Running {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_booking"))
            .arg(folder)
            .arg("127.0.0.1:0")
            .env("NO_COLOR", "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let mut log = BufReader::new(child.stdout.take().expect("the log is piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).expect("text") > 0, "it ended");
            if let Some((_, address)) = line.split_once("address=") {
                break address.trim().to_owned();
            }
        };
        Self {
            child,
            address,
            log,
        }
    }

    fn call(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the service accepts");
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Sends the signal, and expects an end without an error.
    fn stop(mut self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let mut log = String::new();
        self.log.read_to_string(&mut log).expect("text");
        let ended = self.child.wait().expect("it ends");
        assert!(ended.success(), "{signal}: {ended:?}\n{log}");
    }
}

#[test]
fn signals_stop_the_service_and_nothing_answered_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let booking = r#"{"room": 7, "night": "2027-05-01", "guest": "Ada",
        "id": "0197a3c0-0000-7000-8000-000000000001"}"#;
    let service = Running::start(folder.path());
    let answer = service.call("POST /bookings", booking);
    assert!(answer.starts_with("HTTP/1.0 2"), "{answer}");
    service.stop("-TERM");

    let service = Running::start(folder.path());
    let other = booking
        .replace("000000000001", "000000000002")
        .replace("Ada", "Grace");
    let answer = service.call("POST /bookings", &other);
    assert!(answer.starts_with("HTTP/1.0 409"), "{answer}");
    service.stop("-INT");
}
