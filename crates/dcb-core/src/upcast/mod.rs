//! Upcasting: reading old versions of an event's data as the current version.
//!
//! The stored events never change. The data of an event has a version, which is 1 unless
//! [`EventBuilder::version`](crate::EventBuilder::version) set another. [`Versions`] defines how each
//! version becomes the next. [`Upcasting`] applies this to every event that a store returns, from
//! queries and streams to projections, decisions and subscriptions.
//!
//! Upcasting never changes types and tags. Queries and conditions search the log by them, so they
//! mean the same with and without upcasting. After a type was renamed, query both names.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), dcb_core::Error> {
//! use dcb_core::{Event, EventStore, MemoryStore, Query, ReadOptions, Upcasting, Upcasts, Versions};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct NamedV1 { name: String }
//! #[derive(Serialize, Deserialize)]
//! struct Named { first: String, last: String }
//!
//! let named = Versions::first().then(|old: NamedV1| {
//!     let (first, last) = old.name.split_once(' ').unwrap_or((&old.name, ""));
//!     Named { first: first.into(), last: last.into() }
//! });
//! let store = Upcasting::new(MemoryStore::new(), Upcasts::new().of("Named", named));
//!
//! let old = Event::builder("Named").data(r#"{"name":"Ada Lovelace"}"#).build()?;
//! let new = Event::builder("Named").version(2)
//!     .json(&Named { first: "Alan".into(), last: "Turing".into() }).build()?;
//! store.append([old, new]).await?;
//! for event in store.query(&Query::all(), ReadOptions::new()).await?.events {
//!     assert_eq!(event.version(), 2);
//!     let named: Named = event.json()?;
//!     # let _ = (named.first, named.last);
//! }
//! # Ok(()) }
//! ```

mod check;
mod store;
mod versions;

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use check::{VersionCheck, check_versions};
pub use store::Upcasting;
pub use versions::Versions;

use crate::{Error, SequencedEvent};

/// The versioned event types, and how to read each as its current version.
#[derive(Default)]
#[must_use]
pub struct Upcasts {
    types: HashMap<String, Upcast>,
}

struct Upcast {
    current: u32,
    recode: Recode,
}

// Boxed to erase the current type, so that one map holds the versions of all event types.
type Recode = Box<dyn Fn(&SequencedEvent) -> Result<Vec<u8>, Error> + Send + Sync>;

impl Upcasts {
    /// Creates an empty set, which leaves every event unchanged.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the versions of this event type, replacing earlier ones.
    pub fn of<T>(mut self, event_type: impl Into<String>, versions: Versions<T>) -> Self
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        let upcast = Upcast {
            current: versions.current(),
            recode: Box::new(move |event| {
                let current = versions.read(event)?;
                serde_json::to_vec(&current).map_err(|error| versions::unreadable(event, error))
            }),
        };
        self.types.insert(event_type.into(), upcast);
        self
    }

    /// The types and their versions, as one text.
    pub(crate) fn versions(&self) -> String {
        let mut versions: Vec<_> = self.types.iter().collect();
        versions.sort_unstable_by_key(|(name, _)| *name);
        let versions = versions.iter().map(|(name, upcast)| (name, upcast.current));
        serde_json::Value::from_iter(versions.map(|(name, version)| (name.as_str(), version)))
            .to_string()
    }

    /// Converts the event's data to the current version of its type. An event of the current version
    /// or of a type without versions is returned unchanged.
    ///
    /// # Errors
    /// [`Error::Upcast`] if the data does not have the shape of its version;
    /// [`Error::VersionTooNew`] if the version is not known.
    pub fn apply(&self, event: SequencedEvent) -> Result<SequencedEvent, Error> {
        match self.types.get(event.event_type()) {
            Some(upcast) if upcast.current != event.version() => {
                let data = (upcast.recode)(&event)?;
                event.with_data(&data, upcast.current)
            }
            _ => Ok(event),
        }
    }
}

impl fmt::Debug for Upcasts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = self
            .types
            .iter()
            .map(|(name, upcast)| (name, upcast.current));
        formatter.debug_map().entries(versions).finish()
    }
}
