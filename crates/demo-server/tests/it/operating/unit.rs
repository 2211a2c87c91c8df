//! The unit for systemd: checked by systemd itself where it is installed, and a server with its settings.

use std::process::Command;

use crate::support::program::Program;

const UNIT: &str = include_str!("../../../demo-server.service");

fn setting(name: &str) -> &'static str {
    let line = UNIT
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("there is no {name}"))
}

#[test]
fn unit_is_valid() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let file = folder.path().join("demo-server.service");
    // The program must exist.
    let unit = UNIT.replace(setting("ExecStart"), env!("CARGO_BIN_EXE_demo-server"));
    std::fs::write(&file, unit).expect("it is written");
    let output = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&file)
        .output();
    let Some(output) = unmet::need("systemd-analyze", output.ok()) else {
        return;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    let about_it: Vec<&str> = error
        .lines()
        .filter(|line| line.contains("demo-server.service"))
        .collect();
    assert!(about_it.is_empty(), "{about_it:?}");
}

#[test]
fn server_with_the_settings_of_the_unit_stops_at_its_signal() {
    assert_eq!(setting("KillSignal"), "SIGTERM");
    let stop_s: u64 = setting("TimeoutStopSec").parse().expect("seconds");
    assert!(stop_s > 15, "requests have 10 s, forwarding 5 s");
    let (name, data) = setting("Environment")
        .split_once('=')
        .expect("a name and a value");
    let expected = format!("/var/lib/{}", setting("StateDirectory"));
    assert_eq!((name, data), ("REGISTRAR_DATA", expected.as_str()));
    let folder = tempfile::tempdir().expect("the folder exists");
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-server"));
    command.env(name, folder.path()).env("REGISTRAR_PORT", "0");
    command.env_remove("DATABASE_URL").env_remove("RUST_LOG");
    let program = Program::start(command);
    assert_eq!(program.call("GET", "/livez", "").0, 200);
    program.stop();
    assert!(folder.path().join("events.sqlite").is_file());
}
