//! The loop under every subscription: read what is there, wait, read again.

use std::time::Duration;

use async_stream::stream;
use futures_core::Stream;

use super::{Appends, Backoff, EventBatch, Progress, SubscribeOptions};
use crate::{Error, EventStore, Events, Position, Query, ReadOptions};

/// The batches of the events past `after`, without end.
///
/// A read is bounded by its position alone, which moves only when its answer has come: one that
/// fails is made again, and nothing is read twice or left out. An append that commits after the
/// read's snapshot either was announced after [`Appends::mark_seen`], or is found by the next poll.
pub(super) fn follow<S>(
    store: S,
    query: Query,
    after: Option<Position>,
    options: SubscribeOptions,
    progress: Progress,
) -> impl Stream<Item = Result<EventBatch, Error>> + Send
where
    S: EventStore + 'static,
{
    let batch_size = options.batch_size.max(1);
    stream! {
        let mut appends = store.appends();
        let mut waiting = Waiting::new(options.poll_interval);
        let mut backoff = Backoff::default();
        let mut read_to = after;
        loop {
            appends.mark_seen();
            let page = ReadOptions::new().after(read_to).limit(batch_size as u64);
            let page = match store.query(&query, page).await {
                Ok(page) => page,
                Err(error) if error.is_transient() => {
                    progress.saw_outage(Some(error));
                    backoff.pause().await;
                    continue;
                }
                Err(error) => {
                    yield Err(error);
                    return;
                }
            };
            progress.saw_outage(None);
            backoff.reset();
            progress.saw_head(page.head);
            let is_full = page.events.len() == batch_size;
            let before = std::mem::replace(&mut read_to, end_of(&page, is_full));
            if let Some(through) = read_to.filter(|_| read_to > before) {
                waiting.found();
                yield Ok(EventBatch { events: page.events, through });
            }
            if !is_full {
                waiting.wait(&mut appends).await;
            }
        }
    }
}

/// How far the page covers the log: one that is not full has everything up to the head.
fn end_of(page: &Events, is_full: bool) -> Option<Position> {
    match page.events.last() {
        Some(event) if is_full => Some(event.position()),
        _ => page.head,
    }
}

/// How long to wait for an announcement.
///
/// Where a read finds nothing new though something was announced, it went to a server that does not
/// have it yet. Then the pauses begin short and grow to the whole interval.
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

    /// The log has grown: what was announced is there.
    fn found(&mut self) {
        self.pause = self.interval;
    }

    async fn wait(&mut self, appends: &mut Appends) {
        let announced = appends.announced(self.pause).await;
        self.pause = if announced {
            Self::SHORTEST
        } else {
            (self.pause * 2).min(self.interval)
        };
    }
}
