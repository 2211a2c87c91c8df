//! The state of a row: a store on its log, and a source of unique events.

use bench::BoxError;
use course_enrollment::workload::{self, Workload};
use dcb_core::sqlite::{BlockingSqliteStore, Config, SqliteStore as AsyncStore};
use dcb_core::{AppendCondition, Event, EventStore as _};
use std::fmt::Debug;
use tempfile::TempDir;

/// The storage of a log.
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
pub(crate) struct Embedded<S = BlockingSqliteStore> {
    pub(crate) store: S,
    workload: Workload,
    _folder: TempDir,
}

impl Embedded {
    /// An empty log.
    pub(crate) fn empty(storage: Storage) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let config = match storage {
            Storage::Memory => Config::memory(),
            Storage::File => Config::file(folder.path().join("log.db")),
        };
        Ok(Self {
            store: BlockingSqliteStore::open(config)?,
            // 0 is the seed of the past events.
            workload: Workload::new(1),
            _folder: folder,
        })
    }

    /// A log with the workload's 100 past events.
    pub(crate) fn past(storage: Storage) -> Result<Self, BoxError> {
        let embedded = Self::empty(storage)?;
        embedded.store.append(workload::past_events())?;
        Ok(embedded)
    }

    /// Appends an event under its condition.
    pub(crate) fn append_if(&self) -> Result<(), BoxError> {
        let (event, condition) = self.event_and_condition();
        std::hint::black_box(self.store.append_if(event, condition)?);
        Ok(())
    }
}

impl Embedded<AsyncStore> {
    /// Appends an event under its condition.
    pub(crate) async fn append_if_async(&self) -> Result<(), BoxError> {
        let (event, condition) = self.event_and_condition();
        std::hint::black_box(self.store.append_if(event, condition).await?);
        Ok(())
    }

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

impl<S> Embedded<S> {
    /// A course, and the condition that no event has its id and category.
    pub(crate) fn event_and_condition(&self) -> (Event, AppendCondition) {
        (self.workload.course(), self.workload.unmet_condition())
    }
}

/// Ends the run if a call did not return the value that its row expects.
pub(crate) fn expect<T: Copy + PartialEq + Debug>(seen: T, expected: T) -> Result<(), BoxError> {
    if seen == expected {
        Ok(())
    } else {
        Err(format!("a call returned {seen:?}, expected {expected:?}").into())
    }
}
