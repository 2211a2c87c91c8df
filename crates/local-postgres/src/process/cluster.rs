//! Creates data folders with `initdb` or `pg_basebackup`, and writes their settings.

use std::{
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use tokio::io::AsyncWriteExt as _;

use super::{
    account::Account,
    folder::ServerFolder,
    watchdog::{LAUNCH, Watchdog},
};
use crate::{Durability, url::USER};

/// Runs `initdb`, which takes about 0.4 s. Dropping the future kills `initdb`; if this process
/// dies, the watchdog ends `initdb`.
pub(crate) async fn create(
    binaries: &Path,
    folder: &ServerFolder,
    account: Account,
    durability: Durability,
    watchdog: &Watchdog,
) -> Result<(), String> {
    let mut initdb = account.command("sh");
    initdb.args(["-c", LAUNCH, "launch"]);
    initdb.arg(binaries.join("initdb"));
    initdb.args(["-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]);
    if durability == Durability::Relaxed {
        initdb.arg("--no-sync");
    }
    initdb.arg("-D").arg(folder.data());
    let output = run(initdb, watchdog).await;
    let output = output.map_err(|error| format!("initdb could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "initdb failed: {}",
        last_lines(&String::from_utf8_lossy(&output.stderr))
    ))
}

/// Copies the data of the running server at `url` with `pg_basebackup`, so that a server on the
/// copy follows that server. Takes about half a second. Dropping the future kills `pg_basebackup`;
/// if this process dies, the watchdog ends `pg_basebackup`.
pub(crate) async fn copy(
    binaries: &Path,
    folder: &ServerFolder,
    account: Account,
    url: &str,
    watchdog: &Watchdog,
) -> Result<(), String> {
    let mut backup = account.command("sh");
    backup.args(["-c", LAUNCH, "launch"]);
    backup.arg(binaries.join("pg_basebackup"));
    backup.args([
        "--write-recovery-conf",
        "--wal-method=stream",
        "--checkpoint=fast",
    ]);
    backup.arg("--dbname").arg(url);
    backup.arg("--pgdata").arg(folder.data());
    let output = run(backup, watchdog).await;
    let output = output.map_err(|error| format!("pg_basebackup could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "pg_basebackup failed: {}",
        last_lines(&String::from_utf8_lossy(&output.stderr))
    ))
}

async fn run(program: Command, watchdog: &Watchdog) -> io::Result<Output> {
    let mut program = tokio::process::Command::from(program);
    program
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut program = program.kill_on_drop(true).spawn()?;
    // The watchdog gets the id before the program starts; see `LAUNCH`.
    watchdog.tell(&program.id().map(|pid| pid.to_string()).unwrap_or_default())?;
    if let Some(mut go) = program.stdin.take() {
        go.write_all(b"go\n").await?;
    }
    let output = program.wait_with_output().await?;
    watchdog.tell("")?;
    Ok(output)
}

/// Appends settings to postgresql.conf, where the last line for a name wins. Other settings keep
/// initdb's defaults.
pub(crate) fn configure(folder: &ServerFolder, settings: &[(String, String)]) -> io::Result<()> {
    let sockets = if folder.holds_socket() {
        // The setting is a list, and an unquoted comma would end this element.
        let path = folder.path().to_string_lossy();
        format!("\"{}\"", path.replace('"', "\"\""))
    } else {
        String::new()
    };
    // Loopback only, because the server trusts every client.
    let own = [
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", sockets.as_str()),
    ];
    let given = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let mut lines = String::from("\n");
    for (name, value) in own.into_iter().chain(given) {
        let quoted = value.replace('\\', "\\\\").replace('\'', "''");
        let _ = writeln!(lines, "{name} = '{quoted}'");
    }
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(folder.data().join("postgresql.conf"))?;
    file.write_all(lines.as_bytes())
}

/// The last four lines of a program's output, joined into one.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(4)..].join(" | ")
}
