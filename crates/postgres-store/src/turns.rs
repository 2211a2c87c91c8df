//! The turns of a store's followers.
//!
//! A notification wakes all followers of a store, and a new session of the listener wakes those of all
//! stores in the database. If all of their reads waited for a connection, every other read would wait
//! behind them, and the last ones would use up their time limit in the wait.
//!
//! Tested by `tests/suite/followers.rs`.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store_fault::Fault;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::readers::Readers;
use crate::store_error::StoreError;

/// The number of followers that may read at the same time, per connection. It is also the number of short
/// reads that share a statement in `dcb-core`.
const PER_CONNECTION: usize = 16;

/// A line of followers that wait for their turn to read. Cheap to clone; clones share the line.
#[derive(Clone)]
pub(crate) struct Turns {
    line: Arc<Semaphore>,
}

/// The right to read, until it is dropped.
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Turns {
    /// For followers that read over this number of connections.
    pub(crate) fn new(connections: usize) -> Self {
        let turns = connections.max(1).saturating_mul(PER_CONNECTION);
        Self {
            line: Arc::new(Semaphore::new(turns.min(Semaphore::MAX_PERMITS))),
        }
    }

    /// Waits for a turn. The wait has no time limit, because it is not the server's.
    ///
    /// # Errors
    /// Why no connection could be opened, once that has lasted for the time limit of a read.
    pub(crate) async fn next<E: StoreError>(&self, readers: &Readers<E>) -> Result<Turn, E> {
        // A limit of zero would make this a busy loop.
        let patience = readers.limit().max(Duration::from_millis(100));
        let mut place = pin!(Arc::clone(&self.line).acquire_owned());
        loop {
            let since = Instant::now();
            match timeout(patience, place.as_mut()).await {
                Ok(Ok(permit)) => return Ok(Turn { _permit: permit }),
                Ok(Err(_closed)) => return Err(Fault::Closed.into()),
                Err(_elapsed) => readers.outage(since).map_or(Ok(()), Err)?,
            }
        }
    }
}
