//! The pause before a decision is made again after a conflict with another process.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::Duration;

/// The pause after this many conflicts in a row: none after the first, then a random part of a time
/// that doubles. The processes that met pause for different times, so they do not meet again.
pub(crate) fn pause(conflicts: u32) -> Duration {
    /// The longest pause is 64 ms.
    const DOUBLINGS: u32 = 6;
    let Some(doublings) = conflicts.checked_sub(2) else {
        return Duration::ZERO;
    };
    let longest = 1000_u64 << doublings.min(DOUBLINGS);
    // Each `RandomState` has other keys.
    let random = RandomState::new().hash_one(());
    Duration::from_micros(random % longest)
}
