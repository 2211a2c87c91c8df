//! The sessions through which the stores hear of other processes. A lost one delays what other
//! processes write until the next poll of a subscription. Nothing fails, so the status stays `ok`.

use std::time::SystemTime;

use dcb_core::EventStore as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{Health, Store};
use crate::stores::Stores;

/// The session of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    /// `None` while the store hears.
    pub(crate) lost_since: Option<SystemTime>,
    pub(crate) replacements: u64,
}

impl Health {
    /// Learns the state of the sessions from the stores' counters.
    pub(super) fn note_listeners(&self, stores: &Stores) {
        let events = stores.events.stats().listener.map(|listener| Listener {
            lost_since: listener.lost_since,
            replacements: listener.replacements,
        });
        *self.state(Store::Events).listener.lock() = events;
        // Without counters, a namespace is being opened or deleted.
        let Some(stats) = stores.messages.stats() else {
            return;
        };
        let messages = stats.listener.map(|listener| Listener {
            lost_since: listener.lost_since,
            replacements: listener.replacements,
        });
        *self.state(Store::Messages).listener.lock() = messages;
    }

    /// The session of a store, as of the last probe. `None` if it has none.
    pub(crate) fn listener(&self, store: Store) -> Option<Listener> {
        *self.state(store).listener.lock()
    }

    /// The sessions by the name of the store.
    pub(super) fn listeners(&self) -> Map<String, Value> {
        let stores = Store::ALL.into_iter();
        stores
            .filter_map(|store| Some((store.name().to_owned(), self.listener(store)?.json())))
            .collect()
    }
}

impl Listener {
    fn json(self) -> Value {
        let since = self
            .lost_since
            .and_then(|since| Timestamp::try_from(since).ok());
        let since = since.map(|since| since.to_string());
        json!({ "hears": self.lost_since.is_none(), "lostSince": since, "replacements": self.replacements })
    }
}
