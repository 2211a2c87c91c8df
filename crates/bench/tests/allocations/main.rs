//! The tests that count allocations. They have a process of their own, because the counter sees all
//! threads of the process.

#[path = "../it/common.rs"]
mod common;
mod lanes;
mod pass;
mod scope;
mod series;

use std::sync::{Mutex, MutexGuard, PoisonError};

static COUNTING: Mutex<()> = Mutex::new(());

/// Lets one test count at a time.
fn counting() -> MutexGuard<'static, ()> {
    COUNTING.lock().unwrap_or_else(PoisonError::into_inner)
}
