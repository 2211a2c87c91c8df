//! The read loop of every subscription: read to the end of the log, wait, read again.

use std::time::Duration;

use async_stream::stream;
use futures_core::Stream;
use group_commit::Backoff;

use super::looks::Next;
use super::{EventBatch, Notifications, Progress, SubscribeOptions};
use crate::{Bookmark, Error, EventStore, Events, Query, ReadOptions, SequencedEvent};

/// Batches of the events after `after`, without end.
///
/// An announcement is a hint, and correctness does not depend on it. The read position advances only
/// when a read has succeeded, so a failed read is repeated and no event is skipped or read twice.
/// The read position has the id of the event there, so each read notices if the log was replaced.
/// The loop marks the signal as seen before it reads: an append that commits after the read's
/// snapshot is either announced after [`Notifications::mark_seen`] or found by the next poll. So a lost or
/// duplicate announcement costs time, never an event. The cases of `dcb-conformance` in
/// `subscription.rs` and `tests/it/postgres/subscription/announced.rs` fail without
/// this.
pub(super) fn follow<S>(
    store: S,
    query: Query,
    after: Option<Bookmark>,
    options: SubscribeOptions,
    progress: Progress,
) -> impl Stream<Item = Result<EventBatch, Error>> + Send
where
    S: EventStore + 'static,
{
    let batch_size = options.batch_size.max(1);
    let store = store.for_follower();
    stream! {
        let mut appends = store.notifications();
        let metrics = store.metrics();
        let mut waiting = Waiting::new(options.poll_interval);
        let mut backoff = Backoff::default();
        let mut follower = appends.follower();
        let mut read_to = after;
        loop {
            appends.mark_seen();
            let look = appends.looks().begin();
            let page = ReadOptions::new().after(read_to).limit(batch_size as u64);
            let page = match store.query(&query, page).await {
                Ok(page) => page,
                Err(error) if error.is_transient() => {
                    follower.waits(&error);
                    progress.set_read_outage(Some(error));
                    metrics.store().followers().retries();
                    backoff.pause().await;
                    continue;
                }
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            follower.reads();
            progress.set_read_outage(None);
            backoff.reset();
            progress.observe_head(Bookmark::position_of(page.head));
            appends.looks().found(look, page.head);
            let is_full = page.events.len() == batch_size;
            let before = std::mem::replace(&mut read_to, covered_through(&page, is_full));
            // A page without matches still yields a batch, so that checkpoints advance.
            let has_advanced = Bookmark::position_of(read_to) > Bookmark::position_of(before);
            if let Some(through) = read_to.filter(|_| has_advanced) {
                waiting.found();
                yield Ok(EventBatch { events: page.events, through });
            }
            // A full page may have been cut off by the limit: read on without a wait.
            if !is_full {
                metrics.store().followers().waits();
                waiting.wait(&mut appends, read_to).await;
            }
        }
    }
}

/// The event through which the page covers the log: a page that is not full reaches the head.
fn covered_through(page: &Events, is_full: bool) -> Option<Bookmark> {
    let last = page.events.last().filter(|_| is_full);
    last.map(SequencedEvent::bookmark).or(page.head)
}

/// The wait for an announcement between two reads.
///
/// If a read finds nothing new although an append was announced, the read probably went to a
/// replica that lags behind. Then the pauses start short and grow to the poll interval.
struct Waiting {
    interval: Duration,
    pause: Duration,
}

impl Waiting {
    const SHORTEST: Duration = Duration::from_millis(2);

    fn new(interval: Duration) -> Self {
        let interval = interval.max(Self::SHORTEST);
        Self {
            interval,
            pause: interval,
        }
    }

    /// The read has caught up with the announcement.
    fn found(&mut self) {
        self.pause = self.interval;
    }

    async fn wait(&mut self, appends: &mut Notifications, read_to: Option<Bookmark>) {
        let announced = appends.announced(self.pause).await
            || self.pause == self.interval && self.rest(appends, read_to).await;
        self.pause = if announced {
            Self::SHORTEST
        } else {
            self.pause.saturating_mul(2).min(self.interval)
        };
    }

    /// Waits on while the look of another subscription shows that nothing is new. Returns whether an
    /// append was announced.
    async fn rest(&self, appends: &mut Notifications, read_to: Option<Bookmark>) -> bool {
        // The subscription that looks may not be polled, so the others don't rely on it for long.
        const PATIENCE: u32 = 16;
        let mut awaited = 0;
        loop {
            let pause = match appends.looks().next(read_to, self.interval) {
                Next::Look => return false,
                Next::Await(_) if awaited == PATIENCE => return false,
                Next::Await(pause) => {
                    awaited += 1;
                    pause
                }
                Next::Rest(pause) => {
                    awaited = 0;
                    pause
                }
            };
            if appends.announced(pause).await {
                return true;
            }
        }
    }
}
