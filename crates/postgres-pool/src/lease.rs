use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::postgres::PgConnection;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;

use crate::open::Open;
use crate::pool::Shared;

/// A connection that is lent to one borrower.
///
/// Dropped, it is asked for a sign of life in a task of its own before anyone else gets it, which
/// also takes what a statement that was given up has still to answer. What gives none within
/// [`Limits::wait`](crate::Limits::wait) is cut.
pub struct Lease {
    /// There until the lease ends.
    open: Option<Open>,
    place: Option<(Arc<Shared>, OwnedSemaphorePermit)>,
}

impl Lease {
    pub(crate) fn new(open: Open, pool: Arc<Shared>, permit: OwnedSemaphorePermit) -> Self {
        Self {
            open: Some(open),
            place: Some((pool, permit)),
        }
    }

    /// Gives the connection back for the next borrower, at once. The last statement must have been
    /// answered to its end, and no transaction be open.
    pub fn give_back(mut self) {
        if let (Some(open), Some((pool, permit))) = (self.open.take(), self.place.take()) {
            pool.rest(open);
            drop(permit);
        }
    }

    /// Cuts the connection, without a farewell: nobody can use it while an answer may still come.
    pub fn discard(mut self) {
        self.open = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let (Some(open), Some((pool, permit))) = (self.open.take(), self.place.take()) else {
            return;
        };
        // Without a runtime nobody can ask it, and it is cut.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                pool.ask_and_rest(open).await;
                drop(permit);
            });
        }
    }
}

const LENT: &str = "the connection is there until the lease ends";

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
