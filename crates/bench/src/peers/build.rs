//! Builds the programs of the peers.

use super::roster::Peer;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the peers' workspaces.
fn workspaces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/peers")
}

/// The folder of this program, in cargo's target folder: `<target>/release` or `<target>/debug`.
fn folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

/// Builds a peer's program with the profile of this program and beside it. Returns its path, or why it
/// can't be built.
pub(super) fn build(peer: &Peer) -> Result<PathBuf, String> {
    if let Some(server) = peer.server {
        build_package(server, "")?;
    }
    build_package(peer.package, peer.workspace)
}

fn build_package(package: &str, workspace: &str) -> Result<PathBuf, String> {
    let folder = folder();
    let profile = if folder.ends_with("debug") {
        "dev"
    } else {
        "release"
    };
    let target = folder.parent().unwrap_or(&folder);
    let manifest = workspaces().join(workspace).join("Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args([
            "build",
            "--quiet",
            "--profile",
            profile,
            "--package",
            package,
        ])
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if built.status.success() {
        return Ok(folder.join(package));
    }
    Err(format!("it was not built: {}", first_error(&built.stderr)))
}

/// The line in which a command says what failed.
pub(super) fn first_error(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let error = text.lines().find(|line| line.contains("error"));
    error
        .or_else(|| text.lines().last())
        .unwrap_or("no reason was given")
        .trim()
        .to_owned()
}
