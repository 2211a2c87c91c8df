//! A run: all bench targets that one `cargo bench` ran, each saved as a file of JSON.

mod identity;

use crate::environment::{Environment, Invocation};
use crate::error::Error;
use crate::result::RowResult;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use identity::Parent;
pub use identity::RunId;

/// The version of the saved files; another is refused.
pub const VERSION: u32 = 2;

/// What one bench target measured in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetRun {
    /// [`VERSION`] of the build that saved it.
    pub version: u32,
    /// The bench target.
    pub target: String,
    /// The run that it belongs to.
    pub run: RunId,
    /// Why it can't fill a page; none where every row was measured as its profile says.
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
    /// Saves it in `folder`, by rename, and returns the file.
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

    /// Reads what all targets saved in `folder`, by name.
    ///
    /// # Errors
    /// As [`load`](Self::load).
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

    /// Reads what `target` saved in `folder`; none where it saved nothing.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Unreadable`] for a file of another version.
    pub fn load(folder: &Path, target: &str) -> Result<Option<Self>, Error> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let file = file_of(folder, target);
        if !file.exists() {
            return Ok(None);
        }
        let json = fs::read(&file).map_err(Error::file(&file))?;
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

/// Writes a file beside `file`, then renames it, so that a reader sees the old or the new one.
pub(crate) fn replace(file: &Path, content: &[u8]) -> Result<(), Error> {
    let temporary = temporary_of(file);
    fs::write(&temporary, content).map_err(Error::file(&temporary))?;
    fs::rename(&temporary, file).map_err(Error::file(file))
}

/// Where the content of `file` is written before it is renamed.
pub(crate) fn temporary_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    file.with_file_name(name)
}
