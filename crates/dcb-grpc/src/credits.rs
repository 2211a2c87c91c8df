//! The memory for pieces of pages that clients have not taken yet.
//!
//! A stream makes its next piece only after the transport has taken the previous one, and the transport
//! takes one as the client reads. So a client that reads nothing costs one piece, in the stream or in
//! the transport. A piece has up to [`LARGE`] bytes while the memory for all of them lasts, else up to
//! [`SMALL`], or one event.

use std::sync::Arc;

use prost::Message as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::proto::SequencedEvent;

/// The size of a piece, well below the 4 MiB that clients accept.
const LARGE: usize = 256 << 10;
/// The size of a piece when the memory is used up.
const SMALL: usize = 16 << 10;
/// The most bytes that frame an event in its message.
const FRAME: usize = 6;

/// The memory of all streams, in large pieces.
#[derive(Clone)]
pub(crate) struct Credits(Arc<Semaphore>);

impl Credits {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / LARGE)))
    }

    /// The piece of a new stream.
    pub(crate) fn piece(&self) -> Piece {
        Piece {
            credits: self.clone(),
            credit: None,
            events: Vec::new(),
            bytes: 0,
        }
    }
}

/// The events that a stream sends next.
pub(crate) struct Piece {
    credits: Credits,
    credit: Option<OwnedSemaphorePermit>,
    events: Vec<SequencedEvent>,
    bytes: usize,
}

impl Piece {
    /// Begins a piece. The previous one was taken.
    pub(crate) fn begin(&mut self) {
        self.credit = None;
        self.credit = Arc::clone(&self.credits.0).try_acquire_owned().ok();
        self.bytes = 0;
    }

    /// The most bytes of the piece, if it has more than one event.
    pub(crate) fn room(&self) -> usize {
        match self.credit {
            Some(_) => LARGE,
            None => SMALL,
        }
    }

    /// Whether `event` belongs into the next piece.
    pub(crate) fn is_full_for(&self, event: &SequencedEvent) -> bool {
        !self.events.is_empty() && self.bytes + size(event) > self.room()
    }

    pub(crate) fn push(&mut self, event: SequencedEvent) {
        self.bytes += size(&event);
        self.events.push(event);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(crate) fn last_position(&self) -> Option<u64> {
        self.events.last().map(|event| event.position)
    }

    /// The events. The memory stays taken until the next piece begins.
    pub(crate) fn take(&mut self) -> Vec<SequencedEvent> {
        std::mem::take(&mut self.events)
    }
}

fn size(event: &SequencedEvent) -> usize {
    event.encoded_len() + FRAME
}
