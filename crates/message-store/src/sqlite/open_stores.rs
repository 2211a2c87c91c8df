//! The stores of a folder's namespaces that are open.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use super::store::SqliteStore;
use crate::{Error, Fault, NamespaceName, Stats};

/// The open stores. Those that no caller holds are idle: they stay open for the next call, but each has
/// files open, so the one that was used least recently closes when another store needs the place.
#[derive(Default)]
pub(super) struct OpenStores {
    stores: HashMap<NamespaceName, Open>,
    /// The number of uses of all stores.
    uses: u64,
    /// The counters of the stores that were closed because they were idle.
    closed: Stats,
}

struct Open {
    store: SqliteStore,
    last_use: u64,
}

impl OpenStores {
    /// The store of a namespace if it is open. A store that its user closed does not count.
    pub(super) fn get(&mut self, name: &NamespaceName) -> Option<&SqliteStore> {
        self.uses += 1;
        let open = self.stores.get_mut(name)?;
        open.last_use = self.uses;
        Some(&open.store).filter(|store| !store.blocking().is_closed())
    }

    /// Adds the store of a namespace.
    pub(super) fn insert(&mut self, name: NamespaceName, store: SqliteStore) {
        self.uses += 1;
        let last_use = self.uses;
        self.stores.insert(name, Open { store, last_use });
    }

    pub(super) fn remove(&mut self, name: &NamespaceName) {
        self.stores.remove(name);
    }

    /// The stores that their users have not closed.
    pub(super) fn iter(&self) -> impl Iterator<Item = &SqliteStore> {
        let stores = self.stores.values().map(|open| &open.store);
        stores.filter(|store| !store.blocking().is_closed())
    }

    /// The counters of all stores.
    pub(super) fn stats(&self) -> Stats {
        let stores = self.stores.values();
        let stats = stores.map(|open| open.store.blocking().stats());
        stats.fold(self.closed, Stats::and)
    }

    /// Opens something, with at most `max` stores open before. If the process has too many files open, all
    /// idle stores close and it is tried once more.
    ///
    /// # Errors
    /// The error of `open`; [`Error::TooManyNamespaces`] if the open stores are all held and the process may
    /// open no more files.
    pub(super) fn with_files<T>(
        &mut self,
        max: usize,
        open: impl Fn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.close_idle(max);
        let opened = match open() {
            // SQLite says no more of too many files.
            Err(Error::Fault(Fault::Unreachable(_))) if self.close_idle(0) > 0 => open(),
            opened => opened,
        };
        match opened {
            Err(Error::Fault(Fault::Unreachable(_))) if lacks_files() => {
                let open = self.stores.len();
                Err(Error::TooManyNamespaces { open })
            }
            opened => opened,
        }
    }

    /// Closes idle stores until at most `max` stores are open. Returns the number that it has closed.
    fn close_idle(&mut self, max: usize) -> usize {
        let mut closed = 0;
        while self.stores.len() > max {
            // Only this map hands out clones, and the caller has locked it.
            let is_idle = |open: &Open| Arc::strong_count(&open.store.blocking().shared) == 1;
            let idle = self.stores.iter().filter(|(_, open)| is_idle(open));
            let Some((name, _)) = idle.min_by_key(|(_, open)| open.last_use) else {
                break;
            };
            let name = name.clone();
            if let Some(Open { store, .. }) = self.stores.remove(&name) {
                store.blocking().close();
                self.closed = self.closed.and(store.blocking().stats());
                closed += 1;
            }
        }
        closed
    }

    /// Closes all stores.
    pub(super) fn close(&mut self) {
        for (_, open) in self.stores.drain() {
            open.store.blocking().close();
        }
    }
}

/// Whether the process may not open as many files as another store may need at once.
fn lacks_files() -> bool {
    /// `ENFILE` and `EMFILE` of Unix.
    const LIMITS: [Option<i32>; 2] = [Some(23), Some(24)];
    let opened: Vec<_> = (0..8).map(|_| File::open("/dev/null")).collect();
    let mut failed = opened.iter().filter_map(|opened| opened.as_ref().err());
    failed.any(|failed| cfg!(unix) && LIMITS.contains(&failed.raw_os_error()))
}
