//! Packages that npm fetches.

use super::build::first_error;
use std::path::PathBuf;
use std::process::Command;

/// The packages of a peer, with the versions that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Npm {
    /// A name for their folder.
    name: &'static str,
    /// Their `package.json`.
    manifest: &'static str,
}

/// Its SQL is in the package.
pub(super) const MESSAGE_DB: Npm = Npm {
    name: "message-db-1.3.1",
    manifest: r#"{"private":true,"dependencies":{"@eventide/message-db":"1.3.1"}}"#,
};

/// The published adapter depends on a version that npm does not have, so the version is overridden.
pub(super) const DCB_ES: Npm = Npm {
    name: "dcb-es-7.0.1",
    manifest: r#"{"private":true,"type":"module","dependencies":{"@dcb-es/event-store":"7.0.1",
        "@dcb-es/event-store-postgres":"7.0.1","pg":"8.16.3"},
        "overrides":{"@dcb-es/event-store":"$@dcb-es/event-store"}}"#,
};

impl Npm {
    /// The folder of the packages; the first call fetches them.
    pub(super) fn folder(self) -> Result<PathBuf, String> {
        let folder = std::env::temp_dir().join(format!("registrar-npm-{}", self.name));
        // npm writes this file last.
        if folder.join("node_modules/.package-lock.json").is_file() {
            return Ok(folder);
        }
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        std::fs::write(folder.join("package.json"), self.manifest)
            .map_err(|error| error.to_string())?;
        let fetched = Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
            .arg(&folder)
            .output()
            .map_err(|error| format!("npm did not start: {error}"))?;
        if fetched.status.success() {
            return Ok(folder);
        }
        let reason = first_error(&fetched.stderr);
        Err(format!("npm could not fetch it: {reason}"))
    }
}
