use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::{Error, SequencedEvent};

/// The versions of one event type's data, each readable as the last version, `T`.
///
/// Start with [`Versions::first`] and add a conversion to each next version with
/// [`Versions::then`]. The type system rejects missing steps and wrong shapes.
#[must_use]
pub struct Versions<T> {
    /// The readers of version 1, version 2 and so on. Each returns the last version.
    readers: Vec<Reader<T>>,
}

type Reader<T> = Box<dyn Fn(&[u8]) -> Result<T, serde_json::Error> + Send + Sync>;

impl<T: DeserializeOwned + 'static> Versions<T> {
    /// Starts with version 1: JSON of the shape `T`.
    pub fn first() -> Self {
        Self {
            readers: vec![reader()],
        }
    }

    /// Adds a version: JSON of the shape `Next`, which `upcast` creates from the previous version.
    pub fn then<Next: DeserializeOwned + 'static>(
        self,
        upcast: impl Fn(T) -> Next + Send + Sync + 'static,
    ) -> Versions<Next> {
        // Shared by the readers of all older versions, because the closure need not be `Clone`.
        let upcast = Arc::new(upcast);
        let older = self.readers.into_iter().map(|read| {
            let upcast = Arc::clone(&upcast);
            let read: Reader<Next> = Box::new(move |data| read(data).map(|old| upcast(old)));
            read
        });
        Versions {
            readers: older.chain([reader()]).collect(),
        }
    }

    /// The number of the last version, which new events should have.
    pub fn current(&self) -> u32 {
        self.readers.len() as u32
    }

    /// Reads the data of an event of any version as the last version.
    ///
    /// # Errors
    /// [`Error::Upcast`] if the data does not have the shape of its version;
    /// [`Error::VersionTooNew`] if the version is not known.
    pub fn read(&self, event: &SequencedEvent) -> Result<T, Error> {
        let version = event.version();
        // A version of 0, which only hand-written metadata can have, counts as 1.
        let reader = usize::try_from(version.saturating_sub(1))
            .ok()
            .and_then(|index| self.readers.get(index));
        let read = reader.ok_or_else(|| Error::VersionTooNew {
            position: event.position(),
            event_type: event.event_type().into(),
            found: version,
            supported: self.current(),
        })?;
        read(event.data()).map_err(|error| unreadable(event, error))
    }
}

fn reader<T: DeserializeOwned>() -> Reader<T> {
    Box::new(|data| serde_json::from_slice(data))
}

pub(super) fn unreadable(event: &SequencedEvent, error: serde_json::Error) -> Error {
    Error::Upcast {
        position: event.position(),
        event_type: event.event_type().into(),
        version: event.version(),
        source: Arc::new(error),
    }
}

impl<T> fmt::Debug for Versions<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Versions")
            .field("current", &self.readers.len())
            .finish_non_exhaustive()
    }
}
