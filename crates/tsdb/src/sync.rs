//! The locks and atomics of the in-memory engine.
//!
//! The model tests (`tests/model`) compile the engine against another `sync` module, which can run
//! any interleaving. So the modules under these tests take locks and atomics only from here.

pub(crate) use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

pub(crate) use parking_lot::{Mutex, MutexGuard, RwLock};
