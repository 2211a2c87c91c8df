use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{KeptState, Projection};
use crate::{Error, SequencedEvent};

/// How a store keeps a state in its database. See
/// [`Projector::keep_stored`](crate::Projector::keep_stored).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct StateOptions {
    every: u64,
    max_bytes: usize,
}

impl StateOptions {
    /// The default of [`StateOptions::every`].
    pub const DEFAULT_EVERY: u64 = 1_000;
    /// The default of [`StateOptions::max_bytes`]: 1 MiB.
    pub const DEFAULT_MAX_BYTES: usize = 1 << 20;

    /// The defaults.
    pub fn new() -> Self {
        Self {
            every: Self::DEFAULT_EVERY,
            max_bytes: Self::DEFAULT_MAX_BYTES,
        }
    }

    /// Stores the state after this many events of the boundary; 0 counts as 1. A process that starts reads
    /// the events after the last state that was stored, so a smaller number makes its first decision
    /// cheaper, and stores more often.
    pub fn every(mut self, events: u64) -> Self {
        self.every = events.max(1);
        self
    }

    /// Stores only states of at most this size, as JSON text in bytes. A larger one stays in memory.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Whether a state is stored after this many events.
    pub(crate) fn is_due(self, events: u64) -> bool {
        events >= self.every
    }

    /// The text, unless it is too large.
    pub(crate) fn limit(self, text: String) -> Option<String> {
        Some(text).filter(|text| text.len() <= self.max_bytes)
    }
}

impl Default for StateOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// The fold of a state that a store keeps in its database, without the type of the state.
///
/// [`Projector::keep_stored`](crate::Projector::keep_stored) makes them. A [`Projection`] of your own does so
/// in [`Projection::stored`].
#[derive(Clone)]
pub struct StoredFold {
    fold: Arc<dyn Fold>,
}

impl StoredFold {
    /// The fold of this projection. Its states are stored as JSON.
    pub fn new<P>(projection: P) -> Self
    where
        P: Projection + 'static,
        P::State: Clone + Serialize + DeserializeOwned + Sync + 'static,
    {
        Self {
            fold: Arc::new(Arc::new(projection)),
        }
    }

    /// The state in this text; `None` if it is not one.
    pub(crate) fn decode(&self, text: &str) -> Option<KeptState> {
        self.fold.decode(text)
    }

    /// Begins without events.
    pub(crate) fn begin(&self) -> Box<dyn Folding> {
        self.fold.begin()
    }

    /// Continues from the state in this text; `None` if it is not one.
    pub(crate) fn resume(&self, text: &str) -> Option<Box<dyn Folding>> {
        self.fold.resume(text)
    }
}

impl fmt::Debug for StoredFold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StoredFold").finish_non_exhaustive()
    }
}

trait Fold: Send + Sync {
    fn decode(&self, text: &str) -> Option<KeptState>;
    fn begin(&self) -> Box<dyn Folding>;
    fn resume(&self, text: &str) -> Option<Box<dyn Folding>>;
}

/// A fold under way.
pub(crate) trait Folding: Send {
    fn apply(&mut self, event: &SequencedEvent) -> Result<(), Error>;

    /// The state as text; `None` if the text would not tell the whole state.
    fn text(&self) -> Option<String>;
}

struct Running<P: Projection> {
    projection: Arc<P>,
    state: P::State,
}

impl<P> Fold for Arc<P>
where
    P: Projection + 'static,
    P::State: Clone + Serialize + DeserializeOwned + Sync + 'static,
{
    fn decode(&self, text: &str) -> Option<KeptState> {
        let state: P::State = serde_json::from_str(text).ok()?;
        KeptState::new(state)
    }

    fn begin(&self) -> Box<dyn Folding> {
        Box::new(Running {
            state: self.initial(),
            projection: Self::clone(self),
        })
    }

    fn resume(&self, text: &str) -> Option<Box<dyn Folding>> {
        Some(Box::new(Running {
            state: serde_json::from_str(text).ok()?,
            projection: Self::clone(self),
        }))
    }
}

impl<P> Folding for Running<P>
where
    P: Projection,
    P::State: Serialize + DeserializeOwned,
{
    fn apply(&mut self, event: &SequencedEvent) -> Result<(), Error> {
        self.projection.apply_read(&mut self.state, event)
    }

    fn text(&self) -> Option<String> {
        let text = serde_json::to_string(&self.state).ok()?;
        // Some values are written and not read as they were: a number that is not finite becomes null.
        let again: P::State = serde_json::from_str(&text).ok()?;
        let again = serde_json::to_string(&again).ok()?;
        let is_whole = again == text || unordered(&again)? == unordered(&text)?;
        is_whole.then_some(text)
    }
}

/// The value in a text, with each list in an order of its content: a hash set is written in another order
/// each time.
fn unordered(text: &str) -> Option<Value> {
    fn sort(value: &mut Value) {
        match value {
            Value::Array(values) => {
                values.iter_mut().for_each(sort);
                values.sort_by_cached_key(Value::to_string);
            }
            Value::Object(entries) => {
                entries.values_mut().for_each(sort);
                entries.sort_keys();
            }
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).ok()?;
    sort(&mut value);
    Some(value)
}
