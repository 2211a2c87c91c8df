//! The parts of `std` that the queue uses for locks, threads and time.
//!
//! The model tests replace this module with one on which shuttle explores interleavings. Therefore no
//! other module names `std::sync::Mutex`, `std::thread` or the clock.

use std::time::Instant;

pub(crate) use std::sync::{Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread::{Thread, current, park, yield_now};

/// Parks the current thread until it is unparked or `deadline` has passed.
pub(crate) fn park_until(deadline: Instant) {
    std::thread::park_timeout(deadline.saturating_duration_since(Instant::now()));
}

pub(crate) fn has_passed(deadline: Instant) -> bool {
    Instant::now() >= deadline
}
