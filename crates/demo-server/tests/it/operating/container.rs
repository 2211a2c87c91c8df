//! The container file, without an engine: its rules, and a server with its settings.

use std::process::Command;

use crate::support::program::{Program, free_port};

const FILE: &str = include_str!("../../../Dockerfile");
const COMPOSE: &str = include_str!("../../../compose.yaml");

/// The arguments of an instruction in the last stage.
fn instruction(name: &str) -> &'static str {
    let stage = FILE.rsplit("\nFROM ").next().expect("there is a stage");
    let line = stage.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("there is no {name}")).trim()
}

#[test]
fn container_is_not_root_and_can_be_checked_and_stopped() {
    let user: u32 = instruction("USER")
        .parse()
        .expect("a number, so that it is seen not to be root");
    assert!(user > 0);
    assert_eq!(instruction("VOLUME"), "/data");
    assert_eq!(instruction("STOPSIGNAL"), "SIGTERM");
    assert!(instruction("HEALTHCHECK").ends_with(r#"CMD ["demo-server", "health"]"#));
    assert_eq!(instruction("ENTRYPOINT"), r#"["demo-server"]"#);
    for rule in [
        "read_only: true",
        "cap_drop: [ALL]",
        "no-new-privileges:true",
        "stop_grace_period: 20s",
    ] {
        assert!(COMPOSE.contains(rule), "{rule}");
    }
}

#[test]
fn server_with_the_settings_of_the_container_answers_its_health_check() {
    let folder = tempfile::tempdir().expect("the folder exists");
    let data = folder.path().join("data");
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo-server"));
    for setting in instruction("ENV").split(' ') {
        let (name, value) = setting.split_once('=').expect("a name and a value");
        command.env(name, value.replace("/data", data.to_str().expect("text")));
    }
    let port = free_port().to_string();
    command
        .env("REGISTRAR_PORT", &port)
        .env_remove("DATABASE_URL")
        .env_remove("RUST_LOG");
    let program = Program::start(command);
    assert_eq!(program.call("GET", "/livez", "").0, 200);
    assert_eq!(
        program.call("GET", "/dcb/read", "").0,
        401,
        "tokens are required"
    );
    let check = || {
        let mut check = Command::new(env!("CARGO_BIN_EXE_demo-server"));
        check
            .arg("health")
            .env("REGISTRAR_PORT", &port)
            .env("REGISTRAR_LISTEN", "0.0.0.0");
        check.output().expect("the program runs")
    };
    let checked = check();
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    program.stop();
    let checked = check();
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&checked.stderr).contains(&port));
}
