//! The events of a subscription as frames of an event stream, cut into pieces that the outbox has
//! memory for.

use std::sync::Arc;

use dcb_core::{
    Bookmark, Error, EventBatch, EventStore as _, Query, SequencedEvent, SubscribeOptions,
    Subscription,
};

use super::event::write_event;
use crate::outbox::{Frame, InTurns};

/// Maximum number of events in a batch.
const MAX_EVENTS: usize = 64;
/// Number of events in the first batch, when their size is still unknown.
const FIRST_EVENTS: usize = 4;

/// A subscription, and the place up to which it is sent.
pub(super) struct Feed {
    store: InTurns,
    query: Query,
    live: Subscription,
    batch_events: usize,
    /// All events up to this one are sent, and the first `begun` bytes of the next event's
    /// frame.
    sent: Option<Bookmark>,
    begun: usize,
}

/// The next part of the stream.
pub(super) enum Part {
    /// Whole frames, or a piece of a large one, within the share.
    Own(Vec<u8>),
    /// The frame of a large event from this byte on.
    Shared(Arc<Frame>, usize),
}

impl Feed {
    pub(super) fn new(store: InTurns, query: Query, after: Option<Bookmark>) -> Self {
        Self {
            live: subscription(&store, &query, after, FIRST_EVENTS),
            store,
            query,
            batch_events: FIRST_EVENTS,
            sent: after,
            begun: 0,
        }
    }

    /// Waits for the next part. `None` at the end.
    ///
    /// Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<Result<Part, Error>> {
        loop {
            match self.live.next_batch().await? {
                // An empty batch only reports progress.
                Ok(batch) if batch.events.is_empty() => self.sent = Some(batch.through),
                Ok(batch) => return Some(Ok(self.part(&batch))),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Whether an event is sent in part.
    pub(super) fn is_amid_event(&self) -> bool {
        self.begun > 0
    }

    fn part(&mut self, batch: &EventBatch) -> Part {
        let share = self.store.outbox.share();
        let (mut text, mut whole) = (Vec::new(), 0);
        for event in &batch.events {
            let end = text.len();
            // A frame is longer than its event, so such an event does not fit. Another subscriber
            // may have made its frame already.
            if self.begun > 0 || end + event.size_bytes() > share {
                break;
            }
            write_frame(event, &mut text);
            if text.len() > share {
                text.truncate(end);
                break;
            }
            whole += 1;
        }
        match whole {
            0 => self.large_part(batch),
            _ => {
                self.pass(batch, whole, text.len());
                Part::Own(text)
            }
        }
    }

    /// The next part of the first event. Its frame exceeds the share, or was sent in part.
    fn large_part(&mut self, batch: &EventBatch) -> Part {
        let event = &batch.events[0];
        let make = || {
            let mut text = Vec::with_capacity(event.size_bytes());
            write_frame(event, &mut text);
            text
        };
        let begun = std::mem::take(&mut self.begun);
        let (part, bytes) = match self.store.outbox.frame(event.id(), make) {
            Ok(frame) => (Part::Shared(frame, begun), event.size_bytes()),
            Err(text) => {
                let end = text.len().min(begun + self.store.outbox.share());
                let piece = text.get(begun..end).unwrap_or_default().to_vec();
                if end < text.len() {
                    self.begun = end;
                    self.restart(1);
                    return Part::Own(piece);
                }
                (Part::Own(piece), text.len())
            }
        };
        self.pass(batch, 1, bytes);
        part
    }

    /// Records that the first `events` events of a batch, which have `bytes` bytes, are sent. The
    /// others are read again later, so they take no memory.
    fn pass(&mut self, batch: &EventBatch, events: usize, bytes: usize) {
        if events < batch.events.len() {
            self.sent = Some(batch.events[events - 1].bookmark());
            self.restart(events);
        } else {
            self.sent = Some(batch.through);
            self.adapt(events, bytes);
        }
    }

    /// Chooses the number of events in a batch by the size of the last ones.
    fn adapt(&mut self, events: usize, bytes: usize) {
        let fitting = self.store.outbox.share() * events / bytes.max(1);
        let wanted = (fitting / 2).clamp(1, MAX_EVENTS);
        let is_full = events == self.batch_events;
        if wanted < self.batch_events || (is_full && wanted >= 2 * self.batch_events) {
            self.restart(wanted);
        }
    }

    fn restart(&mut self, batch_events: usize) {
        self.live = subscription(&self.store, &self.query, self.sent, batch_events);
        self.batch_events = batch_events;
    }
}

fn subscription(
    store: &InTurns,
    query: &Query,
    after: Option<Bookmark>,
    events: usize,
) -> Subscription {
    let options = SubscribeOptions::new().batch_size(events);
    store.subscribe(query.clone(), after, options)
}

/// Writes an event as a frame of an event stream.
fn write_frame(event: &SequencedEvent, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("id: {}\nevent: event\ndata: ", event.bookmark()).as_bytes());
    write_event(event, out);
    out.extend_from_slice(b"\n\n");
}
