//! The state of the rows: a store with its log, and events that nobody else makes.

use bench::BoxError;
use course_enrollment::workload::{self, Workload};
use dcb_core::sqlite::{Config, SqliteStore as AsyncStore, blocking::SqliteStore};
use dcb_core::{AppendCondition, Event};
use std::fmt::Debug;
use tempfile::TempDir;

/// Where a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Memory,
    File,
}

impl Storage {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::File => "file",
        }
    }

    pub(crate) fn blocking(self) -> String {
        format!("{}, blocking", self.name())
    }

    pub(crate) fn asynchronous(self) -> String {
        format!("{}, async", self.name())
    }
}

/// A store, and the folder of its file.
pub(crate) struct Place<S = SqliteStore> {
    pub(crate) store: S,
    workload: Workload,
    _folder: TempDir,
}

impl Place {
    /// An empty log.
    pub(crate) fn empty(storage: Storage) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let config = match storage {
            Storage::Memory => Config::memory(),
            Storage::File => Config::file(folder.path().join("log.db")),
        };
        Ok(Self {
            store: SqliteStore::open(config)?,
            // 0 is that of the past events.
            workload: Workload::new(1),
            _folder: folder,
        })
    }

    /// A log of the workload's 100 past events.
    pub(crate) fn past(storage: Storage) -> Result<Self, BoxError> {
        let place = Self::empty(storage)?;
        place.store.append(workload::past_events())?;
        Ok(place)
    }

    /// Appends an event under its condition.
    pub(crate) fn append_if(&self) -> Result<(), BoxError> {
        let (event, condition) = self.event_and_condition();
        std::hint::black_box(self.store.append_if(event, condition)?);
        Ok(())
    }
}

impl Place<AsyncStore> {
    /// An empty log in a file.
    pub(crate) async fn empty_async() -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        Ok(Self {
            store: AsyncStore::open(Config::file(folder.path().join("log.db"))).await?,
            workload: Workload::new(1),
            _folder: folder,
        })
    }
}

impl<S> Place<S> {
    /// A course, and the condition that nothing has its id and category.
    pub(crate) fn event_and_condition(&self) -> (Event, AppendCondition) {
        (self.workload.course(), self.workload.unmet_condition())
    }
}

/// Fails the run where a call did not see what its row says.
pub(crate) fn expect<T: Copy + PartialEq + Debug>(seen: T, expected: T) -> Result<(), BoxError> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("a call saw {seen:?}, expected was {expected:?}").into())
    }
}
