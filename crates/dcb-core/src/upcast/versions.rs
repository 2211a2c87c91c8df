use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::{Error, SequencedEvent};

/// The versions of one type's data, each read as the last of them, `T`.
///
/// Begun with the first and continued with what makes the next of it, so that a step can neither
/// be left out nor be of the wrong shape.
#[must_use]
pub struct Versions<T> {
    /// The reader of version 1, of version 2, and so on.
    readers: Vec<Reader<T>>,
}

type Reader<T> = Box<dyn Fn(&[u8]) -> Result<T, serde_json::Error> + Send + Sync>;

impl<T: DeserializeOwned + 'static> Versions<T> {
    /// Version 1 is JSON of this shape.
    pub fn first() -> Self {
        Self {
            readers: vec![reader()],
        }
    }

    /// One version more: JSON of the shape `Next`, which `upcast` makes of the version before.
    pub fn then<Next: DeserializeOwned + 'static>(
        self,
        upcast: impl Fn(T) -> Next + Send + Sync + 'static,
    ) -> Versions<Next> {
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

    /// The number of the last version: the one to append with.
    pub fn current(&self) -> u32 {
        self.readers.len() as u32
    }

    /// The data of an event of any version, as of the last.
    ///
    /// # Errors
    /// [`Error::Upcast`] where it is not of the shape that its version has;
    /// [`Error::VersionTooNew`] for one that is not known here.
    pub fn read(&self, event: &SequencedEvent) -> Result<T, Error> {
        let version = event.version();
        let reader = usize::try_from(version.saturating_sub(1))
            .ok()
            .and_then(|index| self.readers.get(index));
        let read = reader.ok_or_else(|| Error::VersionTooNew {
            position: event.position(),
            event_type: event.event_type().into(),
            found: version,
            supported: self.current(),
        })?;
        read(event.data()).map_err(|error| unreadable(event, &error))
    }
}

fn reader<T: DeserializeOwned>() -> Reader<T> {
    Box::new(|data| serde_json::from_slice(data))
}

pub(super) fn unreadable(event: &SequencedEvent, error: &serde_json::Error) -> Error {
    Error::Upcast {
        position: event.position(),
        event_type: event.event_type().into(),
        version: event.version(),
        reason: error.to_string().into(),
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
