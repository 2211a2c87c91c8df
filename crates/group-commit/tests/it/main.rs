//! The queue through its public API: async and blocking.

mod blocking;
mod queue;
