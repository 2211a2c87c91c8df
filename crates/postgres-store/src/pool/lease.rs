use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::postgres::PgConnection;
use store_meter::{Borrowed, Timer};
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use super::Shared;
use super::open::{Open, Process};

/// A connection that is lent to one borrower.
///
/// Dropping a lease spawns a task that pings the connection and returns it to the pool. The ping
/// also reads the rest of an abandoned statement's answer. If there is no answer within
/// [`Limits::wait`](crate::Limits::wait), the pool drops the connection.
pub struct Lease {
    /// `None` only once the lease has ended.
    open: Option<Open>,
    is_closed_on_drop: bool,
    /// The pool that lent the connection, and the pool's permit for it.
    origin: Option<(Arc<Shared>, OwnedSemaphorePermit)>,
    /// Counts the connection as in use.
    _in_use: Borrowed,
}

impl Lease {
    pub(super) fn new(
        open: Open,
        pool: Arc<Shared>,
        permit: OwnedSemaphorePermit,
        asked: Timer,
    ) -> Self {
        Self {
            open: Some(open),
            is_closed_on_drop: false,
            _in_use: pool.meter.borrowed(asked),
            origin: Some((pool, permit)),
        }
    }

    /// Returns the connection to the pool, ready for the next borrower without a ping. The caller
    /// must have read the last statement's whole answer, and no transaction may be open.
    pub fn give_back(mut self) {
        if let (Some(open), Some((pool, permit))) = (self.open.take(), self.origin.take()) {
            pool.add_idle(open);
            // Release the permit after `add_idle`, so that the borrower that gets it finds the
            // connection.
            drop(permit);
        }
    }

    /// The server process behind the connection.
    pub fn process(&self) -> Process {
        self.open.as_ref().expect(LENT).process
    }

    /// Closes the socket when the lease is dropped, instead of a ping. Use it before a transaction
    /// begins: if the transaction breaks off, a ping does not end it, and a pooler would keep a
    /// server process for it.
    pub fn close_on_drop(&mut self) {
        self.is_closed_on_drop = true;
    }

    /// Closes the socket at once. Use it if an answer may still arrive, for example after a
    /// timeout.
    pub fn discard(mut self) {
        self.open = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (Some(open), Some((pool, permit))) = (self.open.take(), self.origin.take()) else {
            return;
        };
        if self.is_closed_on_drop {
            return;
        }
        // Without a runtime nothing can ping the connection. Dropping it closes its socket.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                pool.ping_and_add_idle(open).await;
                // Hold the permit until now, so that the connection counts as lent while its state
                // is unknown.
                drop(permit);
            });
        }
    }
}

const LENT: &str = "a lease has its connection until it ends";

impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.open.as_ref().expect(LENT).connection
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.open.as_mut().expect(LENT).connection
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").finish_non_exhaustive()
    }
}
