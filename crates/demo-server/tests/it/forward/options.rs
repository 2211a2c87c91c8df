//! Settings of forwarding that contradict each other or can't be read.

use std::process::Command;

fn refused(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_demo-server"))
        .args(["--test-mode", "--port", "0"])
        .args(arguments)
        .env_remove("DATABASE_URL")
        .output();
    let output = output.expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

#[test]
fn wrong_settings_are_named_in_one_line_without_their_secrets() {
    for (arguments, part) in [
        (vec!["--forward-to", "metrics:8428"], "--forward-to"),
        (vec!["--forward-to", "ftp://u:hidden@m/write"], "http://"),
        (
            vec!["--forward-header", "Authorization: hidden"],
            "needs --forward-to",
        ),
        (
            vec![
                "--forward-to",
                "http://m/write",
                "--forward-header",
                "hidden",
            ],
            "Name: value",
        ),
    ] {
        let error = refused(&arguments);
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}
