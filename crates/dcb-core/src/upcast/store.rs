use std::sync::Arc;

use futures_util::StreamExt as _;

use super::Upcasts;
use crate::{Error, EventStore, EventStream, Events, KeptStates, Lanes, Query, ReadOptions};

/// A store that returns all events in the current version of their type.
///
/// Appends, conditions and counts go to the inner store unchanged. Stored events stay as they are,
/// and an event is appended with the version it was built with. Reading an event of the current
/// version costs a hash look-up of its type; an older one is decoded and encoded once.
#[derive(Clone, Debug)]
pub struct Upcasting<S> {
    store: S,
    upcasts: Arc<Upcasts>,
    // Not the inner store's: its lanes keep events as they were appended. Both count together.
    lanes: Lanes,
}

impl<S: EventStore> Upcasting<S> {
    /// Wraps `store` so that its events are read through `upcasts`.
    pub fn new(store: S, upcasts: Upcasts) -> Self {
        let upcasts = Arc::new(upcasts);
        let lanes = match store.lanes() {
            Some(lanes) => lanes.upcasting(Arc::clone(&upcasts)),
            None => Lanes::new().upcasting(Arc::clone(&upcasts)),
        };
        Self {
            lanes,
            store,
            upcasts,
        }
    }

    /// The inner store, which returns events as they were appended.
    pub fn inner(&self) -> &S {
        &self.store
    }
}

impl<S: EventStore> EventStore for Upcasting<S> {
    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        let stream = self.store.query_stream(query, options).await?;
        let upcasts = Arc::clone(&self.upcasts);
        let head = stream.head();
        let events = stream.map(move |event| upcasts.apply(event?));
        Ok(EventStream::new(head, events))
    }

    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        // Override the default, so that the inner store can read all events at once.
        let Events { events, head } = self.store.query(query, options).await?;
        let events = events.into_iter().map(|event| self.upcasts.apply(event));
        Ok(Events {
            events: events.collect::<Result<_, _>>()?,
            head,
        })
    }

    fn for_follower(self) -> Self {
        Self {
            store: self.store.for_follower(),
            ..self
        }
    }

    fn lanes(&self) -> Option<&Lanes> {
        Some(&self.lanes)
    }

    fn kept_states(&self) -> Option<KeptStates> {
        let states = self.store.kept_states()?;
        Some(states.upcast(&self.upcasts))
    }

    crate::forward_event_store! { self { Self { store, .. } => store }
        submit head count extent exists tracked commands
        projection_limit outage notifications metrics health stats close
    }
}
