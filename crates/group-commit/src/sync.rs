//! Everything that the queue takes from `std` to wait and to exclude.
//!
//! The model tests compile the other modules against a `sync` of their own, under which every
//! interleaving can happen. That is why no other module names `std::sync::Mutex`, `std::thread` or
//! the clock.

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
