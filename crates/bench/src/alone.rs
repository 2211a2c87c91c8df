use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The right to measure on this machine. Two concurrent runs would disturb each other.
///
/// It is a lock on a file. The operating system releases it when the process ends for any reason.
#[derive(Debug)]
pub struct Alone {
    _locked: File,
}

impl Alone {
    /// The file that all runs on this machine lock.
    pub(crate) fn file() -> PathBuf {
        std::env::temp_dir().join("registrar-bench.lock")
    }

    /// Waits until no other run measures on this machine. `holder` is the name that they print while
    /// they wait for this one.
    ///
    /// # Errors
    /// Of the file that all runs lock.
    pub fn on_this_machine(holder: &str) -> Result<Self, Error> {
        Self::wait(&Self::file(), holder)
    }

    /// Locks `file`. If another run holds it, prints the name of that run and waits. Ctrl-C ends
    /// the wait, because its handler is only installed later.
    pub(crate) fn wait(file: &Path, holder: &str) -> Result<Self, Error> {
        let failed = || Error::file(file);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut locked = options.open(file).map_err(failed())?;
        let mut told = false;
        while let Err(refused) = locked.try_lock() {
            match refused {
                TryLockError::WouldBlock if !told => {
                    told = true;
                    eprintln!(
                        "waiting: {} is measuring on this machine",
                        name(&mut locked)
                    );
                }
                TryLockError::WouldBlock => {}
                TryLockError::Error(error) => return Err(failed()(error)),
            }
            std::thread::sleep(RETRY_AFTER);
        }
        // A run that waits prints this name. If it reads the file between our lock and our write,
        // it prints the previous holder's name.
        let named = locked
            .set_len(0)
            .and_then(|()| locked.rewind())
            .and_then(|()| write!(locked, "{holder}, process {}", std::process::id()));
        named.map_err(failed())?;
        Ok(Self { _locked: locked })
    }
}

fn name(locked: &mut File) -> String {
    let mut name = String::new();
    match locked.read_to_string(&mut name) {
        Ok(_) if !name.is_empty() => name,
        _ => "another run".to_owned(),
    }
}
