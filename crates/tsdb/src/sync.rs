//! The locks and atomics of the in-memory engine.
//!
//! The model tests (`tests/model`) compile the engine against another `sync` module, one that can
//! run any interleaving. So the modules they explore take locks and atomics from here only.

pub(crate) use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
