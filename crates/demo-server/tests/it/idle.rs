//! What a server does without requests.

#![cfg(target_os = "linux")]

use std::time::Duration;

use crate::support::program::{Program, command};

/// The bytes that a process made the file system write.
fn written(server: &Program) -> u64 {
    let counters = std::fs::read_to_string(server.path("io")).expect("the counters are there");
    let mut lines = counters.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("write_bytes: "));
    bytes
        .and_then(|bytes| bytes.parse().ok())
        .expect("a number")
}

/// The server wrote its own measurements and synced them each second: 45 KB in 10 seconds.
#[test]
fn idle_server_writes_next_to_nothing_to_disk() {
    const WATCHED: Duration = Duration::from_secs(8);
    const MOST: u64 = 20_000;
    let folder = tempfile::tempdir().expect("the folder exists");
    let mut command = command();
    command.arg("--data").arg(folder.path().join("data"));
    let server = Program::start(command);
    // The start writes the files.
    std::thread::sleep(Duration::from_secs(3));
    let before = written(&server);
    std::thread::sleep(WATCHED);
    let bytes = written(&server) - before;
    assert!(bytes <= MOST, "{bytes} bytes in {WATCHED:?}");
    server.stop();
}
