use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tsdb::storage::{Storage, StorageFile, StoredFile};

use crate::failure::Failure;

/// How often a copy is begun. A server replaces files by a snapshot at most every few minutes.
const ATTEMPTS: usize = 10;

/// The files of a folder at one moment, in memory.
#[derive(Clone, Default)]
pub(super) struct Snapshot {
    files: Arc<Mutex<BTreeMap<String, Content>>>,
}

type Content = Arc<Mutex<Vec<u8>>>;

impl Snapshot {
    /// Copies the files of a folder that a server may be writing to. A file that only grew meanwhile ends
    /// at any byte, as after a crash; recovery handles that. If the server added or removed a file, the
    /// copy begins again.
    pub(super) fn of(folder: &Path) -> Result<Self, Failure> {
        for _ in 0..ATTEMPTS {
            if let Some(snapshot) = Self::try_of(folder)
                .map_err(|failed| Failure::from(failed).in_context(folder.display()))?
            {
                return Ok(snapshot);
            }
        }
        Err(Failure::new(
            crate::failure::Kind::Unreachable,
            format!("{} changes all the time: try again", folder.display()),
        ))
    }

    fn try_of(folder: &Path) -> io::Result<Option<Self>> {
        let names = names(folder)?;
        let mut files = BTreeMap::new();
        for name in &names {
            match fs::read(folder.join(name)) {
                Ok(bytes) => files.insert(name.clone(), Arc::new(Mutex::new(bytes))),
                Err(failed) if failed.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(failed) => return Err(failed),
            };
        }
        let is_same = self::names(folder)? == names;
        Ok(is_same.then(|| Self {
            files: Arc::new(Mutex::new(files)),
        }))
    }

    fn file(&self, name: &str) -> io::Result<Content> {
        let files = lock(&self.files);
        let file = files.get(name).cloned();
        file.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The files of the folder, in the order in which a log is written.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file()
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// No holder panics between two changes that belong together.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Storage for Snapshot {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let files = lock(&self.files);
        let stored = files.iter().map(|(name, content)| StoredFile {
            name: name.clone(),
            length: lock(content).len() as u64,
        });
        Ok(stored.collect())
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        let content = self.file(name)?;
        into.clone_from(&lock(&content));
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let content = Content::default();
        lock(&self.files).insert(name.to_owned(), Arc::clone(&content));
        Ok(Box::new(File(content)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let content = self.file(from)?;
        let mut files = lock(&self.files);
        files.remove(from);
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.file(name)?;
        lock(&self.files).remove(name);
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

struct File(Content);

impl StorageFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
