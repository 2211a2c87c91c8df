//! An in-memory disk that can lose unsynced data, run full and fail.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::storage::{Storage, StorageFile, StoredFile};

/// A handle to a disk. Clones share the disk.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Default)]
struct State {
    contents: Vec<Content>,
    /// The folder as the running system sees it: the index of the content by name.
    names: BTreeMap<String, usize>,
    /// The folder as it is after a crash.
    durable_names: BTreeMap<String, usize>,
    /// The free space in bytes, if it is limited.
    space: Option<usize>,
    fails_syncs: bool,
    fails_creates: bool,
    holds_renames: bool,
    holds_syncs: bool,
    renames: usize,
    syncs: usize,
    /// The state of the disk before each change, if states are recorded.
    history: Option<Vec<State>>,
}

#[derive(Clone, Default)]
struct Content {
    bytes: Vec<u8>,
    durable: usize,
}

/// The part of the unsynced data that survives a crash.
pub(crate) enum Survivors {
    None,
    All,
    /// A prefix of random length in which random pages are zero. The number is the seed.
    Some(u64),
}

/// The unit of a torn write.
const PAGE: usize = 512;

impl Disk {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics under the lock")
    }

    /// The disk as it would be after a crash now. A database on `self` keeps running.
    pub(crate) fn after_crash(&self, survivors: &Survivors) -> Self {
        let mut state = self.state().clone();
        state.history = None;
        state.survive(survivors);
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// Starts to record the states for [`Disk::history`].
    pub(crate) fn keep_history(&self) {
        self.state().history = Some(Vec::new());
    }

    /// The recorded states of the disk, one before each change.
    pub(crate) fn history(&self) -> Vec<Self> {
        let history = self.state().history.clone().unwrap_or_default();
        let disk = |state| Self {
            state: Arc::new(Mutex::new(state)),
        };
        history.into_iter().map(disk).collect()
    }

    fn change(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if let Some(mut history) = state.history.take() {
            history.push(state.clone());
            state.history = Some(history);
        }
        state
    }

    /// An independent copy.
    pub(crate) fn copy(&self) -> Self {
        self.after_crash(&Survivors::All)
    }

    pub(crate) fn set_space(&self, bytes: Option<usize>) {
        self.state().space = bytes;
    }

    pub(crate) fn fail_syncs(&self, fails: bool) {
        self.state().fails_syncs = fails;
    }

    pub(crate) fn fail_creates(&self, fails: bool) {
        self.state().fails_creates = fails;
    }

    /// Makes renames block while `holds` is true.
    pub(crate) fn hold_renames(&self, holds: bool) {
        self.state().holds_renames = holds;
    }

    /// Makes syncs of files block while `holds` is true.
    pub(crate) fn hold_syncs(&self, holds: bool) {
        self.state().holds_syncs = holds;
    }

    /// The number of renames that have begun.
    pub(crate) fn renames(&self) -> usize {
        self.state().renames
    }

    pub(crate) fn syncs(&self) -> usize {
        self.state().syncs
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.state().names.keys().cloned().collect()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let state = self.state();
        state.contents[state.names[name]].bytes.clone()
    }

    /// Puts a durable file on the disk.
    pub(crate) fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut state = self.state();
        let durable = bytes.len();
        let index = state.contents.len();
        state.contents.push(Content { bytes, durable });
        state.names.insert(name.to_owned(), index);
        state.durable_names.insert(name.to_owned(), index);
    }
}

impl State {
    fn survive(&mut self, survivors: &Survivors) {
        self.space = None;
        self.fails_syncs = false;
        self.fails_creates = false;
        match survivors {
            Survivors::All => {}
            Survivors::None => {
                self.names = self.durable_names.clone();
                for content in &mut self.contents {
                    content.bytes.truncate(content.durable);
                }
            }
            Survivors::Some(seed) => self.lose_some(&mut StdRng::seed_from_u64(*seed)),
        }
    }

    fn lose_some(&mut self, random: &mut StdRng) {
        for content in &mut self.contents {
            let kept = random.random_range(content.durable..=content.bytes.len());
            if random.random() {
                content.bytes.truncate(kept);
            }
            for page in content.bytes[content.durable..].chunks_mut(PAGE) {
                if random.random_bool(0.2) {
                    page.fill(0);
                }
            }
        }
        if random.random() {
            self.names = self.durable_names.clone();
        }
    }

    fn index(&self, name: &str) -> io::Result<usize> {
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Disk {
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let state = self.state();
        let file = |(name, index): (&String, &usize)| StoredFile {
            name: name.clone(),
            length: state.contents[*index].bytes.len() as u64,
        };
        Ok(state.names.iter().map(file).collect())
    }

    fn read(&self, name: &str, into: &mut Vec<u8>) -> io::Result<()> {
        let state = self.state();
        into.clone_from(&state.contents[state.index(name)?].bytes);
        Ok(())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.change();
        if state.fails_creates {
            return Err(io::Error::other("the disk has failed"));
        }
        let index = state.contents.len();
        state.contents.push(Content::default());
        state.names.insert(name.to_owned(), index);
        let disk = self.clone();
        Ok(Box::new(DiskFile { disk, index }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.state().renames += 1;
        while self.state().holds_renames {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut state = self.change();
        let index = state.index(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), index);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.change();
        state.index(name)?;
        state.names.remove(name);
        Ok(())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.change();
        state.durable_names = state.names.clone();
        Ok(())
    }
}

struct DiskFile {
    disk: Disk,
    index: usize,
}

impl StorageFile for DiskFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.change();
        let fitting = state.space.map_or(bytes.len(), |s| s.min(bytes.len()));
        state.space = state.space.map(|space| space - fitting);
        let content = &mut state.contents[self.index].bytes;
        content.extend_from_slice(&bytes[..fitting]);
        match fitting == bytes.len() {
            true => Ok(()),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        while self.disk.state().holds_syncs {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut state = self.disk.change();
        if state.fails_syncs {
            return Err(io::Error::other("the disk has failed"));
        }
        state.syncs += 1;
        let content = &mut state.contents[self.index];
        content.durable = content.bytes.len();
        Ok(())
    }
}
