use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

/// A connection of a pool, and since when it is.
pub(crate) struct Open {
    pub(crate) connection: PgConnection,
    pub(crate) opened: Instant,
    /// When the server answered it for certain.
    pub(crate) seen_alive: Instant,
    /// When it was given back last.
    pub(crate) rests_since: Instant,
    _counted: Counted,
}

impl Open {
    pub(crate) fn new(connection: PgConnection, size: &Arc<AtomicU32>) -> Self {
        let now = Instant::now();
        Self {
            connection,
            opened: now,
            seen_alive: now,
            rests_since: now,
            _counted: Counted::new(size),
        }
    }

    /// Ends the session. The server ends it all the same where the farewell does not reach it.
    pub(crate) async fn close(self) {
        let _ = self.connection.close().await;
    }
}

/// One of the connections that are open, as long as it lives.
struct Counted(Arc<AtomicU32>);

impl Counted {
    fn new(size: &Arc<AtomicU32>) -> Self {
        size.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(size))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
