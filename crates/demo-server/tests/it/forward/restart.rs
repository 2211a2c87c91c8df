//! A sender that is killed, and one that is stopped.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use demo_server::Settings;

use super::http::free_address;
use super::in_memory;
use super::load::{DECIMAL, Load};
use crate::support::Client;
use crate::support::program::{Program, command};

/// A sender as a process, with its data in this folder.
fn start(folder: &std::path::Path, to: SocketAddr) -> Program {
    let mut command = command();
    command.arg("--data").arg(folder);
    command.args(["--forward-to", &format!("http://{to}/api/v1/write")]);
    Program::start(command)
}

fn write(program: &Program, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let line = format!("killed v={number} {}\n", number * 1_000_000);
        assert_eq!(program.call("POST", "/write", &line).0, 204);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_sender_forwards_the_rest_after_its_restart() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let address = free_address();
    for round in 0..3 {
        // The receiver is down, and dropping the process kills it.
        let program = start(folder.path(), address);
        write(&program, round * 50..round * 50 + 50);
    }
    let receiver = Client::with(Settings {
        port: address.port(),
        ..Settings::in_memory()
    })
    .await;
    let program = start(folder.path(), address);
    write(&program, 150..160);
    let log = program.stop();
    assert!(log.contains("forwarding goes on where it ended"), "{log}");
    let count = receiver
        .get("/api/v1/query?time=1000&query=count_over_time(killed_v[1h])")
        .await;
    assert_eq!(count.ok()["data"]["result"][0]["value"][1], "160");
    let sum = receiver
        .get("/api/v1/query?time=1000&query=sum_over_time(killed_v[1h])")
        .await;
    assert_eq!(sum.ok()["data"]["result"][0]["value"][1], "12720");
    receiver.stop().await;
}

/// The samples of an earlier run that forwarded.
#[test]
fn start_without_a_receiver_names_the_files_of_unsent_samples() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let start = || {
        let mut command = command();
        command.arg("--data").arg(folder.path());
        Program::start(command).stop()
    };
    let log = start();
    assert!(!log.contains("wait to be forwarded"), "{log}");
    let unsent = ["unsent-0000000000000001", "unsent-000000000000000a"];
    for name in unsent {
        let file = folder.path().join("series").join(name);
        std::fs::write(file, "").expect("the file is written");
    }
    let log = start();
    let warning = log
        .lines()
        .find(|line| line.contains("wait to be forwarded"));
    let warning = warning.unwrap_or_else(|| panic!("{log}"));
    assert!(warning.contains("WARN"), "{warning}");
    assert!(warning.contains(&unsent.join(" ")), "{warning}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_sends_what_was_written_just_before() {
    let receiver = Client::start().await;
    let sender = Client::with(in_memory(&receiver.url("/api/v1/write"))).await;
    Load::new(&DECIMAL).write(&sender).await;
    sender.stop().await;
    let found = receiver.get("/api/v1/series?match[]=forwarded").await.ok();
    assert_eq!(found["data"].as_array().map(Vec::len), Some(20));
    receiver.stop().await;
}

#[test]
fn stop_with_a_silent_receiver_ends_and_says_what_is_lost() {
    // Accepts connections by its backlog, and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let to = silent.local_addr().expect("it is bound");
    let mut command = command();
    command.args([
        "--forward-to",
        &format!("http://u:hidden@{to}/write?token=hidden"),
    ]);
    let program = Program::start(command);
    write(&program, 0..10);
    std::thread::sleep(Duration::from_millis(500));
    let log = program.stop();
    for part in [
        "have no log",
        "were not forwarded and are lost",
        "forwarding samples",
    ] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("hidden"), "{log}");
}
