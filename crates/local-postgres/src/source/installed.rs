//! The binaries of a PostgreSQL that is installed on this machine.

use std::{
    cmp::Reverse,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::Found;
use crate::{Missing, Options, Source, process::postmaster::Postmaster};

/// Packages install each version into its own folder. An entry has the parent of these folders, and
/// the part of their names that precedes the version.
const VERSIONED: [(&str, &str); 4] = [
    ("/usr/lib/postgresql", ""),
    ("/usr", "pgsql-"),
    ("/opt/homebrew/opt", "postgresql"),
    ("/usr/local/opt", "postgresql"),
];

pub(crate) async fn start(options: &Options) -> Result<Found, Missing> {
    let binaries =
        find(options.version).map_err(|reason| Missing::absent(Source::Installed, reason))?;
    start_from(&binaries, options)
        .await
        .map(|server| {
            let origin = format!("installed binaries in {}", binaries.display());
            Found::of_process(Source::Installed, origin, server)
        })
        .map_err(|reason| Missing::failed(Source::Installed, reason))
}

async fn start_from(binaries: &Path, options: &Options) -> Result<Postmaster, String> {
    let started = Postmaster::start(binaries, options).await;
    started.map_err(|reason| format!("{}: {reason}", binaries.display()))
}

/// The folder with binaries of this version: `PG_BIN_DIR` if it is set, otherwise the newest version
/// in the usual folders, otherwise a folder on `PATH`.
pub(crate) fn find(version: Option<u16>) -> Result<PathBuf, String> {
    let fits = |folder: &PathBuf| has_server(folder) && has_version(folder, version);
    let wanted = version.map_or_else(String::new, |version| format!(" of PostgreSQL {version}"));
    if let Some(folder) = env::var_os("PG_BIN_DIR").filter(|value| !value.is_empty()) {
        let folder = PathBuf::from(folder);
        let lacks = || {
            format!(
                "PG_BIN_DIR={} holds no initdb and postgres{wanted}",
                folder.display()
            )
        };
        return Some(folder.clone()).filter(fits).ok_or_else(lacks);
    }
    let versioned = VERSIONED
        .iter()
        .flat_map(|(parent, prefix)| newest_first(parent, prefix));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = versioned.chain(env::split_paths(&path));
    folders.find(fits).ok_or_else(|| {
        format!(
            "initdb and postgres{wanted} are neither in PG_BIN_DIR, the usual folders nor on PATH"
        )
    })
}

/// Whether the binaries print this major version, as in `postgres (PostgreSQL) 15.18 (Debian)`.
fn has_version(folder: &Path, version: Option<u16>) -> bool {
    let Some(version) = version else {
        return true;
    };
    let printed = Command::new(folder.join("postgres"))
        .arg("--version")
        .output();
    printed.is_ok_and(|printed| {
        let text = String::from_utf8_lossy(&printed.stdout);
        let number = text.split_once(") ").map(|(_, number)| number);
        let major = number.and_then(|number| number.split(['.', ' ', 'b', 'r']).next());
        major.and_then(|major| major.trim().parse().ok()) == Some(version)
    })
}

fn newest_first(parent: &str, prefix: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            // Homebrew names its folders `postgresql@17`, or `postgresql` for its default version,
            // which sorts last.
            let version = name
                .strip_prefix(prefix)?
                .trim_start_matches('@')
                .parse()
                .unwrap_or(0);
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by_key(|(version, _)| Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres"]
        .iter()
        .all(|name| folder.join(name).is_file())
}
