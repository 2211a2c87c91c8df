//! The parts of `std` that the queue uses for locks, threads and time.
//!
//! The model tests replace this module with a version that lets shuttle explore interleavings.
//! Therefore the other modules take locks, threads and the clock from this module. Two modules use
//! `std` directly: `wake_all` for its list of wakers, and `drive` for its yield to other threads.

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
