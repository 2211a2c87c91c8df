//! `Subscribe`: the events of the log, then new ones.

use async_stream::try_stream;
use dcb_core::{Bookmark, EventStore, Position, Query, SubscribeOptions, Subscription};
use futures_core::Stream;
use tokio::sync::watch;
use tonic::Status;

use crate::credits::Piece;
use crate::error::status;
use crate::proto::{SubscribeRequest, SubscribeResponse};
use crate::wire;

/// The number of events in the first batch, when their size is still unknown.
const FIRST_EVENTS: usize = 16;

/// A checked request.
pub(crate) struct Subscribe {
    query: Query,
    after: Option<Position>,
    /// Whether an event can come after `after`.
    pub(crate) is_endless: bool,
    max_events: usize,
}

impl Subscribe {
    pub(crate) fn check(request: SubscribeRequest) -> Result<Self, Status> {
        Ok(Self {
            query: wire::query(request.query)?,
            after: request.after.and_then(Position::new),
            is_endless: request.after != Some(u64::MAX),
            max_events: wire::page(request.batch_size),
        })
    }

    /// Opens the feed.
    pub(crate) async fn begin<S>(self, store: S) -> Result<Feed<S>, Status>
    where
        S: EventStore + Clone + 'static,
    {
        let mut from = self.after;
        if from.is_some() {
            let head = store.head().await.map_err(|error| status(&error))?;
            // The store refuses to begin beyond the head. The events up to `after` are passed over.
            from = from.min(Bookmark::position_of(head));
        }
        let from = from.map(Bookmark::from);
        let events = FIRST_EVENTS.min(self.max_events);
        Ok(Feed {
            live: subscription(&store, &self.query, from, events),
            store,
            events,
            wanted: self,
        })
    }
}

/// A subscription of the store whose batches fit into pieces.
pub(crate) struct Feed<S> {
    store: S,
    wanted: Subscribe,
    live: Subscription,
    /// The number of events in a batch.
    events: usize,
}

impl<S: EventStore + Clone + 'static> Feed<S> {
    /// Chooses the size of the next batches by the last one, which is sent: `events` events of
    /// `bytes` bytes, up to `through`.
    fn adapt(&mut self, events: usize, bytes: usize, room: usize, through: Bookmark) {
        let fitting = room * events / bytes.max(1);
        let fitting = fitting.clamp(1, self.wanted.max_events);
        let is_full = events == self.events;
        if fitting < self.events || (is_full && fitting >= 2 * self.events) {
            self.live = subscription(&self.store, &self.wanted.query, Some(through), fitting);
            self.events = fitting;
        }
    }
}

fn subscription<S>(store: &S, query: &Query, after: Option<Bookmark>, events: usize) -> Subscription
where
    S: EventStore + Clone + 'static,
{
    let options = SubscribeOptions::new().batch_size(events);
    store.subscribe(query.clone(), after, options)
}

/// The messages of a subscription, until the server ends.
pub(crate) fn messages<S>(
    mut feed: Feed<S>,
    mut piece: Piece,
    mut ending: watch::Receiver<bool>,
) -> impl Stream<Item = Result<SubscribeResponse, Status>> + Send
where
    S: EventStore + Clone + 'static,
{
    try_stream! {
        loop {
            let batch = tokio::select! {
                batch = feed.live.next_batch() => batch,
                () = ended(&mut ending) => break,
            };
            let Some(batch) = batch else { break };
            let batch = batch.map_err(|error| status(&error))?;
            let (count, through) = (batch.events.len(), batch.through);
            if count == 0 {
                continue;
            }
            let mut bytes = 0;
            piece.begin();
            for event in &batch.events {
                if Some(event.position()) <= feed.wanted.after {
                    continue;
                }
                let event = wire::sequenced(event);
                if piece.is_full_for(&event) {
                    bytes += piece.bytes();
                    yield SubscribeResponse { events: piece.take() };
                    piece.begin();
                }
                piece.push(event);
            }
            bytes += piece.bytes();
            feed.adapt(count, bytes, piece.room(), through);
            if !piece.is_empty() {
                drop(batch);
                yield SubscribeResponse { events: piece.take() };
            }
        }
    }
}

async fn ended(ending: &mut watch::Receiver<bool>) {
    // An error means that the server is gone.
    let _ = ending.wait_for(|ending| *ending).await;
}
