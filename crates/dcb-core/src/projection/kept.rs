use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::StateOptions;

/// A folded state that a store keeps of a boundary, instead of the events.
///
/// [`Projector::keep`](crate::Projector::keep) makes them. A [`Projection`](crate::Projection) of your
/// own does so in [`Projection::keep`](crate::Projection::keep).
#[derive(Clone)]
pub struct KeptState {
    state: Arc<dyn Any + Send + Sync>,
    size_bytes: usize,
}

impl KeptState {
    /// Keeps this state. Its size counts as that of its JSON text. `None` if it has no JSON text.
    pub fn new<S: Serialize + Send + Sync + 'static>(state: S) -> Option<Self> {
        let text = serde_json::to_vec(&state).ok()?;
        Some(Self {
            size_bytes: size_of::<S>() + text.len(),
            state: Arc::new(state),
        })
    }

    /// The state; `None` if it has another type.
    pub fn state<S: Clone + 'static>(&self) -> Option<S> {
        self.state.downcast_ref().cloned()
    }

    /// The size that counts for the store's cache.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

impl fmt::Debug for KeptState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeptState")
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

/// The name of a kept state: one boundary can have several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeptAs {
    pub(crate) name: String,
    pub(crate) version: u32,
    state: TypeId,
    /// The name of the type.
    pub(crate) type_name: &'static str,
    /// How the database keeps it too. `None`: only the memory does.
    pub(crate) stored: Option<StateOptions>,
}

impl KeptAs {
    pub(super) fn new<S: 'static>(name: String, version: u32) -> Self {
        Self {
            name,
            version,
            state: TypeId::of::<S>(),
            type_name: type_name::<S>(),
            stored: None,
        }
    }

    /// The size of its parts that are not in the value itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.name.capacity()
    }
}
