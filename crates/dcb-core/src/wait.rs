//! Waiting until reads of a store see a position.

use std::time::Duration;

use tokio::time::timeout;

use crate::subscription::Backoff;
use crate::{Error, EventStore, Position};

/// The poll interval. Polling is needed because a replica does not announce that it has caught up.
const POLL: Duration = Duration::from_millis(5);

pub(crate) async fn wait_for<S>(
    store: &S,
    position: Position,
    limit: Duration,
) -> Result<Position, Error>
where
    S: EventStore + ?Sized,
{
    let waited = timeout(limit, poll_head(store, position)).await;
    waited.unwrap_or(Err(Error::Timeout {
        operation: "wait",
        limit,
    }))
}

async fn poll_head<S>(store: &S, position: Position) -> Result<Position, Error>
where
    S: EventStore + ?Sized,
{
    let mut appends = store.notifications();
    let mut backoff = Backoff::default();
    loop {
        // Mark before the read, because an append during the read must still end the wait below.
        appends.mark_seen();
        match store.head().await {
            Ok(Some(head)) if head >= position => return Ok(head),
            Ok(_) => {
                appends.announced(POLL).await;
            }
            Err(error) if error.is_transient() => backoff.pause().await,
            Err(error) => return Err(error),
        }
    }
}
