//! The commands in the README.

use std::process::Command;

use crate::support::Client;

const README: &str = include_str!("../../README.md");
const ADDRESS: &str = "http://127.0.0.1:8080";

#[tokio::test(flavor = "multi_thread")]
async fn every_command_of_the_readme_succeeds() {
    if unmet::need("curl", Command::new("curl").arg("--version").output().ok()).is_none() {
        return;
    }
    let client = Client::start().await;
    let commands: Vec<&str> = README
        .lines()
        .filter(|line| line.starts_with("curl "))
        .collect();
    for path in [
        "/dcb/append",
        "/rpc",
        "/api/v2/write",
        "/api/v1/query",
        "/demo/",
        "/metrics",
    ] {
        let is_shown = commands.iter().any(|command| command.contains(path));
        assert!(is_shown, "the README shows no request to {path}");
    }
    for command in commands {
        assert!(command.contains(ADDRESS), "{command}");
        let command = command.replace(ADDRESS, &client.url(""));
        let command = command.replacen("curl -s", "curl -sS --fail-with-body", 1);
        let ran = tokio::task::spawn_blocking(move || {
            let output = Command::new("sh").args(["-c", &command]).output();
            (output.expect("the shell runs"), command)
        });
        let (output, command) = ran.await.expect("the task does not panic");
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {text} {error}");
        let is_write = command.contains("/api/v2/write");
        assert_eq!(text.is_empty(), is_write, "{command}: {text}");
        // A query of what the command before it wrote.
        if command.contains("/api/v1/query") {
            assert!(text.contains("21.5"), "{text}");
        }
    }
    client.stop().await;
}
