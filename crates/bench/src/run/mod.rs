//! A run: all targets that one `cargo bench` measured, each saved as a JSON file.

mod identity;

use crate::environment::{Environment, Invocation};
use crate::error::Error;
use crate::result::RowResult;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use identity::Parent;
pub use identity::RunId;

/// The version of the saved files. Other versions are refused.
pub const VERSION: u32 = 2;

/// The results of one target in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetRun {
    /// The [`VERSION`] of the build that saved it.
    pub version: u32,
    /// The target.
    pub target: String,
    /// The run that it belongs to.
    pub run: RunId,
    /// The reason why it cannot fill a page. `None` if every row was measured with all its samples.
    pub partial: Option<String>,
    /// Machine and build.
    pub environment: Environment,
    /// Command, date and profile.
    pub invocation: Invocation,
    /// Servers, settings, datasets.
    pub facts: Vec<(String, String)>,
    /// The rows in the order they were declared.
    pub rows: Vec<RowResult>,
}

impl TargetRun {
    /// Saves the target in `folder`, by a rename, and returns the path of the file.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, folder: &Path) -> Result<PathBuf, Error> {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let file = file_of(folder, &self.target);
        let json = serde_json::to_string_pretty(self).map_err(unreadable(&file))?;
        replace(&file, json.as_bytes())?;
        Ok(file)
    }

    /// Reads all targets in `folder`, sorted by name.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Unreadable`] for a file of another version.
    pub fn load_all(folder: &Path) -> Result<Vec<Self>, Error> {
        let files = fs::read_dir(folder).map_err(Error::file(folder))?.flatten();
        let mut names: Vec<PathBuf> = files
            .map(|file| file.path())
            .filter(|file| file.extension() == Some("json".as_ref()))
            .collect();
        names.sort();
        let names = names.iter().filter_map(|file| file.file_stem()?.to_str());
        let targets = names.map(|name| Self::load(folder, name));
        targets.filter_map(Result::transpose).collect()
    }

    /// Reads a target in `folder`; `None` if it saved nothing.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Unreadable`] for a file of another version.
    pub fn load(folder: &Path, target: &str) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let file = file_of(folder, target);
        // The target may not be part of this run, or may have failed.
        if !file.exists() {
            return Ok(None);
        }
        let json = fs::read(&file).map_err(Error::file(&file))?;
        // The version comes first: another version may not even parse as a `TargetRun`.
        let saved: Versioned = serde_json::from_slice(&json).map_err(unreadable(&file))?;
        if saved.version != VERSION {
            let reason = format!("it has version {}", saved.version);
            return Err(Error::Unreadable {
                path: file,
                known: VERSION,
                reason,
            });
        }
        serde_json::from_slice(&json)
            .map(Some)
            .map_err(unreadable(&file))
    }
}

fn file_of(folder: &Path, target: &str) -> PathBuf {
    folder.join(target).with_extension("json")
}

fn unreadable(file: &Path) -> impl FnOnce(serde_json::Error) -> Error {
    let path = file.to_owned();
    move |error| Error::Unreadable {
        path,
        known: VERSION,
        reason: error.to_string(),
    }
}

/// Writes a temporary file, then renames it, so that readers see either the old or the new content.
pub(crate) fn replace(file: &Path, content: &[u8]) -> Result<(), Error> {
    let temporary = temporary_of(file);
    fs::write(&temporary, content).map_err(Error::file(&temporary))?;
    fs::rename(&temporary, file).map_err(Error::file(file))
}

/// The temporary file that is renamed to `file`.
pub(crate) fn temporary_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    file.with_file_name(name)
}
