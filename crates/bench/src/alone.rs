use crate::error::Error;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

const ASK_AGAIN: Duration = Duration::from_millis(500);

/// The right to measure on this machine: two runs at once would measure each other.
///
/// It is a lock on a file, which the operating system gives back however the process ends.
#[derive(Debug)]
pub(crate) struct Alone {
    _locked: File,
}

impl Alone {
    /// The file that all runs of this user's machine lock.
    pub(crate) fn file() -> PathBuf {
        std::env::temp_dir().join("registrar-bench.lock")
    }

    /// Waits until no other run holds `file`, and says on standard error whom it waits for. Before
    /// the first row nothing listens for Ctrl-C, so that it ends the wait.
    pub(crate) fn wait(file: &Path, who: &str) -> Result<Self, Error> {
        let failed = || Error::file(file);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut locked = options.open(file).map_err(failed())?;
        let mut told = false;
        while let Err(refused) = locked.try_lock() {
            match refused {
                TryLockError::WouldBlock if !told => {
                    told = true;
                    eprintln!("waiting: {} measures on this machine", name(&mut locked));
                }
                TryLockError::WouldBlock => {}
                TryLockError::Error(error) => return Err(failed()(error)),
            }
            std::thread::sleep(ASK_AGAIN);
        }
        let named = locked
            .set_len(0)
            .and_then(|()| locked.rewind())
            .and_then(|()| write!(locked, "{who}, process {}", std::process::id()));
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
