//! A run, as it is saved.

use super::measure::Measured;
use crate::environment::Environment;
use crate::error::Error;
use crate::run::replace;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// All that the page shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PeersRun {
    /// The figures.
    pub measured: Measured,
    /// The size of the run, in words: a later program may have other sizes.
    pub profile: String,
    /// Machine and build.
    pub environment: Environment,
    /// Its start, in seconds since 1970.
    pub started: u64,
    /// The command, without paths.
    pub command: String,
    /// Facts about the server.
    pub facts: Vec<(String, String)>,
}

impl PeersRun {
    /// Saves the run in a file, by a rename.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, file: &Path) -> Result<(), Error> {
        let folder = file.parent().unwrap_or(file);
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let json = serde_json::to_vec(self).map_err(|error| error.into());
        replace(file, &json.map_err(Error::file(file))?)
    }

    /// Reads a saved run.
    ///
    /// # Errors
    /// [`Error::File`], also for a file that is not a run of this version.
    pub fn load(file: &Path) -> Result<Self, Error> {
        let json = fs::read(file).map_err(Error::file(file))?;
        serde_json::from_slice(&json).map_err(|error| Error::file(file)(error.into()))
    }
}
