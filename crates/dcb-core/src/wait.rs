//! Waiting until reads of a store see a position.

use std::time::Duration;

use group_commit::Backoff;
use tokio::time::timeout;

use crate::{Bookmark, Error, EventStore, Fault, Notifications, Position};

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
    let head = async || store.head().await.map(Bookmark::position_of);
    wait_until(position, limit, store.notifications(), head).await
}

/// Waits until the head reaches a position.
pub(crate) async fn wait_until<F>(
    position: Position,
    limit: Duration,
    appends: Notifications,
    head: impl Fn() -> F,
) -> Result<Position, Error>
where
    F: Future<Output = Result<Option<Position>, Error>>,
{
    let waited = timeout(limit, poll_head(position, appends, head)).await;
    waited.unwrap_or(Err(Fault::TimedOut {
        operation: "wait",
        limit,
    }
    .into()))
}

async fn poll_head<F>(
    position: Position,
    mut appends: Notifications,
    head: impl Fn() -> F,
) -> Result<Position, Error>
where
    F: Future<Output = Result<Option<Position>, Error>>,
{
    let mut backoff = Backoff::default();
    loop {
        // Mark before the read, because an append during the read must still end the wait below.
        appends.mark_seen();
        match head().await {
            Ok(Some(head)) if head >= position => return Ok(head),
            Ok(_) => {
                appends.announced(POLL).await;
            }
            Err(error) if error.is_transient() => backoff.pause().await,
            Err(error) => return Err(error),
        }
    }
}
