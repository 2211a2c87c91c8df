//! Builds the programs of the peers.

use super::roster::Peer;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A peer, and the path of its program or why it can't be built.
pub type Program = (Peer, Result<PathBuf, String>);

/// The folder of the peers' workspaces.
fn workspaces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/peers")
}

/// The folder of this program, in cargo's target folder: `<target>/release` or `<target>/debug`.
fn folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

/// Builds the programs of these peers with the profile of this program and beside it. Returns the path of
/// each, or why it can't be built.
///
/// cargo builds a dependency again for each set of features, so the packages of a workspace are built
/// together. If that fails, each is built alone, to learn which of them fails.
pub fn build(peers: &[Peer]) -> Vec<Program> {
    let mut together: Vec<(&str, Result<(), String>)> = Vec::new();
    for peer in peers {
        let workspaces = packages(peer).map(|(_, workspace)| workspace);
        for workspace in workspaces {
            if together.iter().all(|(built, _)| *built != workspace) {
                together.push((
                    workspace,
                    build_packages(&of_workspace(peers, workspace), workspace),
                ));
            }
        }
    }
    let is_built = |workspace| together.contains(&(workspace, Ok(())));
    let program = |peer: &Peer| {
        for (package, workspace) in packages(peer) {
            if !is_built(workspace) {
                build_packages(&[package], workspace)?;
            }
        }
        Ok(folder().join(peer.package))
    };
    peers.iter().map(|peer| (*peer, program(peer))).collect()
}

/// The packages that a peer needs, each with its workspace.
fn packages(peer: &Peer) -> impl Iterator<Item = (&'static str, &'static str)> {
    let server = peer.server.map(|server| (server, ""));
    server.into_iter().chain([(peer.package, peer.workspace)])
}

/// The packages of a workspace that these peers need.
fn of_workspace(peers: &[Peer], workspace: &str) -> Vec<&'static str> {
    let all = peers.iter().flat_map(packages);
    let mut wanted: Vec<_> = all
        .filter(|(_, other)| *other == workspace)
        .map(|(package, _)| package)
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn build_packages(packages: &[&str], workspace: &str) -> Result<(), String> {
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
        .args(["build", "--quiet", "--profile", profile])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .arg("--manifest-path")
        .arg(manifest)
        .arg("--target-dir")
        .arg(target)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cargo did not start: {error}"))?;
    if built.status.success() {
        return Ok(());
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
