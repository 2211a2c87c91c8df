//! The memory for data that subscribers, and clients of long responses, have not read yet.
//!
//! Together they hold at most [`Limits::subscriber_bytes`]. Half of this memory is divided into equal
//! shares, one for each possible subscription. A subscriber can always hold one piece as large as
//! its share. The other half is for larger pieces, as long as it lasts; subscribers share one copy
//! of a large event. If no memory is left, the server sends a large event in pieces as large as the
//! share, and reads the event again for each piece. So a subscriber that reads nothing misses
//! nothing, and delays only the large events of others. Tests: `tests/it/dcb/unread.rs`.

mod frames;
mod pieces;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use dcb_core::{AnyStore, Error, EventStore, Events, Query, ReadOptions};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Limits;

use frames::Frames;

pub(crate) use frames::Frame;
pub(crate) use pieces::{Chunks, pieces};

/// Largest share. A client that reads takes this much at once, so a larger share would not help it.
const MAX_SHARE: usize = 64 << 10;
/// Maximum number of reads for subscribers at the same time. An append wakes all subscribers, and
/// the events that they read take memory until they are sent.
const READS: usize = 4;
/// One permit of the memory for large pieces, in bytes.
const PERMIT_BYTES: usize = 1024;

/// The memory for all subscribers.
#[derive(Debug)]
pub(crate) struct Outbox {
    share: usize,
    large: Arc<Semaphore>,
    frames: Frames,
    reads: Semaphore,
    unread: Arc<AtomicUsize>,
}

/// One subscriber's place in the outbox: at most one of its pieces is unread.
#[derive(Debug)]
pub(crate) struct Mailbox {
    outbox: Arc<Outbox>,
    place: Arc<Semaphore>,
}

/// The right to send a piece.
#[derive(Debug)]
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

/// Memory for a piece that exceeds the share.
#[derive(Debug)]
pub(crate) struct Large {
    _permit: OwnedSemaphorePermit,
}

impl Outbox {
    pub(crate) fn of(limits: &Limits) -> Self {
        let least = limits.least_subscriber_bytes();
        let half = limits.subscriber_bytes.max(least) / 2;
        let share = (half / limits.max_subscriptions.max(1)).min(MAX_SHARE);
        Self {
            share,
            large: Arc::new(Semaphore::new(half / PERMIT_BYTES)),
            frames: Frames::default(),
            reads: Semaphore::new(READS),
            unread: Arc::default(),
        }
    }

    /// Number of bytes that subscribers have not read yet.
    pub(crate) fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }

    /// The largest piece that a subscriber may always hold.
    pub(crate) fn share(&self) -> usize {
        self.share
    }

    fn counted(&self, text: Vec<u8>) -> Counted {
        self.unread.fetch_add(text.len(), Ordering::Relaxed);
        Counted {
            text,
            unread: Arc::clone(&self.unread),
        }
    }

    /// Memory for a piece of this size, if there is any left.
    pub(crate) fn large(&self, bytes: usize) -> Option<Large> {
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).ok()?;
        let permit = Arc::clone(&self.large).try_acquire_many_owned(permits);
        permit.ok().map(|permit| Large { _permit: permit })
    }
}

impl Mailbox {
    pub(crate) fn new(outbox: Arc<Outbox>) -> Self {
        Self {
            outbox,
            place: Arc::new(Semaphore::new(1)),
        }
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.outbox
    }

    /// Waits until the subscriber has read the previous piece.
    pub(crate) async fn turn(&self) -> Turn {
        let place = Arc::clone(&self.place).acquire_owned().await;
        Turn {
            _permit: place.expect("the semaphore is never closed"),
        }
    }

    /// A piece of a response. It counts as unread until the connection drops it, after it has
    /// written it to the socket.
    pub(crate) fn piece(&self, text: Vec<u8>, turn: Turn, large: Option<Large>) -> Bytes {
        Bytes::from_owner(Piece {
            text: self.outbox.counted(text),
            _turn: turn,
            _large: large,
        })
    }
}

/// The owner of a piece's bytes. Dropping it releases the memory.
struct Piece {
    text: Counted,
    _turn: Turn,
    _large: Option<Large>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        self.text.as_ref()
    }
}

/// A text that counts as unread until it is dropped.
#[derive(Debug)]
struct Counted {
    text: Vec<u8>,
    unread: Arc<AtomicUsize>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.text
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.unread.fetch_sub(self.text.len(), Ordering::Relaxed);
    }
}

/// The event store, with few reads at the same time.
#[derive(Clone)]
pub(crate) struct InTurns {
    pub(crate) store: AnyStore,
    pub(crate) outbox: Arc<Outbox>,
}

impl EventStore for InTurns {
    async fn query(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        let _turn = self.outbox.reads.acquire().await;
        self.store.query(query, options).await
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        submit query_stream head count extent exists tracked commands
        projection_limit outage notifications health stats close
    }
}
