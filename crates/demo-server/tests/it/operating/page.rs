//! The page `OPERATING.md`: its table of options, and its commands.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::process::Command;

use clap::CommandFactory as _;
use demo_server::Settings;

use crate::support::program::free_port;

const PAGE: &str = include_str!("../../../OPERATING.md");

#[test]
fn table_lists_each_option_with_its_variable_and_default() {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `--"));
    let first_three = |row: &str| row.split(" | ").take(3).collect::<Vec<_>>().join(" | ");
    let listed: BTreeSet<String> = rows.map(first_three).collect();
    let options = Settings::command();
    let options = options.get_arguments().filter_map(|option| {
        let variable = option.get_env()?.to_str()?;
        let defaults = option.get_default_values().iter();
        let has_value = option.get_action().takes_values();
        let default: Vec<_> = defaults
            .filter_map(|value| value.to_str())
            .filter(|_| has_value)
            .collect();
        let default = default.join(",");
        Some(format!(
            "| `--{}` | `{variable}` | {default}",
            option.get_long()?
        ))
    });
    let wanted: BTreeSet<String> = options.map(|row| row.trim_end().to_owned()).collect();
    let listed: BTreeSet<String> = listed.iter().map(|row| row.trim_end().to_owned()).collect();
    assert!(wanted.len() > 20);
    assert_eq!(listed, wanted);
}

#[test]
fn commands_run_from_the_top_to_the_bottom() {
    for tool in ["curl", "sqlite3"] {
        let version = Command::new(tool).arg("--version").output();
        if unmet::need(tool, version.ok()).is_none() {
            return;
        }
    }
    let folder = tempfile::tempdir().expect("the folder exists");
    let program = folder.path().join("demo-server");
    symlink(env!("CARGO_BIN_EXE_demo-server"), program).expect("the link is made");
    let port = free_port();
    let path = std::env::var("PATH").expect("there is a path");
    // Ends what a failed command leaves running.
    let script = format!(
        "set -ex\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{}",
        commands()
    );
    let output = Command::new("bash")
        .args([
            "-c",
            &script.replace("127.0.0.1:8080", &format!("127.0.0.1:{port}")),
        ])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", folder.path().display()))
        .env("REGISTRAR_PORT", port.to_string())
        .env_remove("DATABASE_URL")
        .output();
    let output = output.expect("the shell runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8_lossy(&output.stdout);
    for part in ["registrar_store_answers", "no damage", "CREATE TABLE"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The lines of all blocks of commands.
fn commands() -> String {
    let blocks = PAGE.split("```console\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.collect()
}
