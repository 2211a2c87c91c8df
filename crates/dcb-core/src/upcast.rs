//! Versions of an event's data: old shapes are read as the current one.
//!
//! The log keeps what was appended. The data of an event has a version, 1 where
//! [`EventBuilder::version`](crate::EventBuilder::version) said nothing; [`Versions`] says how each
//! version becomes the next, and [`Upcasting`] does so to every event that leaves a store, by
//! whatever way: query, stream, projection, decision, subscription.
//!
//! Type and tags are never changed, because the log is searched by them: queries and conditions
//! mean the same with upcasting and without. A type that was renamed is asked for by both names.
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

mod store;
mod versions;

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use store::Upcasting;
pub use versions::Versions;

use crate::{Error, SequencedEvent};

/// Which types have versions, and how each is read as its current one.
#[derive(Default)]
#[must_use]
pub struct Upcasts {
    types: HashMap<String, Upcast>,
}

struct Upcast {
    current: u32,
    recode: Recode,
}

type Recode = Box<dyn Fn(&SequencedEvent) -> Result<Vec<u8>, Error> + Send + Sync>;

impl Upcasts {
    /// None: every event is left as it is.
    pub fn new() -> Self {
        Self::default()
    }

    /// Events of this type have these versions, in place of those said before.
    pub fn of<T>(mut self, event_type: impl Into<String>, versions: Versions<T>) -> Self
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        let upcast = Upcast {
            current: versions.current(),
            recode: Box::new(move |event| {
                let current = versions.read(event)?;
                serde_json::to_vec(&current).map_err(|error| versions::unreadable(event, &error))
            }),
        };
        self.types.insert(event_type.into(), upcast);
        self
    }

    /// The event with its data as of the current version of its type; as it is where it has that
    /// version, or where its type has none.
    ///
    /// # Errors
    /// [`Error::Upcast`] where the data is not of the shape that its version has;
    /// [`Error::VersionTooNew`].
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
        let versions = self.types.iter().map(|(name, to)| (name, to.current));
        formatter.debug_map().entries(versions).finish()
    }
}
