//! Errors and limits of calls while the server can't be reached.

pub(crate) mod causes;
pub(crate) mod limits;

use std::time::Duration;

/// A short limit of calls.
const SHORT: Duration = Duration::from_secs(2);
/// Longer than a failing case waits, so that a call that keeps this limit instead of its own fails.
const LONG: Duration = Duration::from_secs(600);
