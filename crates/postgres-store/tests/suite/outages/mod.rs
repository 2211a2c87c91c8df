//! Errors and limits of calls while the server can't be reached.

pub(crate) mod causes;
pub(crate) mod limits;

use std::time::Duration;

/// A short limit of calls.
const SHORT: Duration = Duration::from_secs(2);
