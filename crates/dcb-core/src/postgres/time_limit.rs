//! One time limit for a call that has several parts.
//!
//! A part has a limit too, because it may run alone. A call of several parts, such as a read of a
//! replica and then of the primary, must not add these limits up.

use std::pin::Pin;
use std::time::{Duration, Instant};

use postgres_store::deadline_after;

use super::PostgresStore;
use crate::Error;
use crate::until::until;

impl PostgresStore {
    /// Runs the parts of a read within one time limit. Takes the future by reference: by value, the
    /// caller's future would have its size several times.
    pub(super) async fn in_read_limit<T>(
        &self,
        read: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, Error> {
        self.in_limit(self.shared.config.read_timeout, read).await
    }

    /// The time limit of a call that gives a silent connection up after `limit`, and goes on with
    /// another one.
    pub(super) fn twice(limit: Duration) -> Duration {
        /// `postgres_store` waits so long for an answer after the server's own timeout.
        const MARGIN: Duration = Duration::from_secs(1);
        limit.saturating_add(MARGIN).saturating_mul(2)
    }

    /// Runs the parts of a call within one time limit.
    pub(super) async fn in_limit<T>(
        &self,
        limit: Duration,
        read: Pin<&mut impl Future<Output = Result<T, Error>>>,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let in_time = until(deadline_after(limit).into_std(), read).await;
        in_time.unwrap_or_else(|| Err(self.shared.primary.late(begun, "read", limit)))
    }
}
