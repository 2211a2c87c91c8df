use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::storage::{Storage, StorageFile, StoredFile};
use crate::wal::segment_number;

/// A log in memory. Files that are not segments keep their names but no bytes: a snapshot would hold
/// all samples a second time, and nothing reads it.
#[derive(Default)]
pub(super) struct Memory {
    files: Mutex<BTreeMap<String, Content>>,
}

/// The bytes of a file; `None` if they are not kept.
type Content = Option<Arc<Mutex<Vec<u8>>>>;

struct MemoryFile(Content);

impl Memory {
    fn content(&self, name: &str) -> io::Result<Content> {
        let files = self.files.lock();
        files.get(name).cloned().ok_or_else(missing)
    }
}

impl Storage for Memory {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let files = self.files.lock();
        let listed = files.iter().map(|(name, content)| StoredFile {
            name: name.clone(),
            length: content
                .as_ref()
                .map_or(0, |bytes| bytes.lock().len() as u64),
        });
        Ok(listed.collect())
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        self.read_from(name, 0, usize::MAX, into)
    }

    fn read_from(&self, name: &str, offset: u64, max: usize, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        if let Some(bytes) = self.content(name)? {
            let bytes = bytes.lock();
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = bytes.get(start..).unwrap_or_default();
            into.extend_from_slice(&rest[..max.min(rest.len())]);
        }
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let content: Content = segment_number(name).map(|_| Arc::default());
        self.files.lock().insert(name.to_owned(), content.clone());
        Ok(Box::new(MemoryFile(content)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock();
        let content = files.remove(from).ok_or_else(missing)?;
        files.insert(to.to_owned(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let removed = self.files.lock().remove(name);
        removed.map(drop).ok_or_else(missing)
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

impl StorageFile for MemoryFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        if let Some(content) = &self.0 {
            content.lock().extend_from_slice(bytes);
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}
