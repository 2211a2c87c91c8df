//! Everything that the engine takes from elsewhere to exclude and to count.
//!
//! The model tests compile the other modules against a `sync` of their own, under which every
//! interleaving can happen. That is why no other module names a lock or an atomic.

pub(crate) use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
