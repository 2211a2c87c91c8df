//! The way of the events from the task that reads them to the consumer of the stream.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::{Bookmark, Error, Fault, SequencedEvent};

/// A chunk ends with the event that makes it reach this size, or when no row has arrived yet. A
/// stream holds at most three chunks.
const CHUNK_BYTES: usize = 64 << 10;
/// How long a page waits for its consumer. Longer than a consumer takes for a chunk, and short
/// compared with a read timeout.
const PATIENCE: Duration = Duration::from_millis(100);

/// Both ends of a new channel.
pub(super) fn channel() -> (Consumer, Chunks) {
    let (sender, receiver) = mpsc::channel(1);
    let (asks, asked) = watch::channel(0);
    let consumer = Consumer {
        sender,
        asked,
        sent: 0,
        events: Vec::new(),
        size_bytes: 0,
        knows_head: false,
    };
    let chunks = Chunks {
        receiver,
        asks,
        received: 0,
        ended: false,
    };
    (consumer, chunks)
}

/// Events that were read together.
pub(super) struct Chunk {
    /// The head of the snapshot.
    pub(super) head: Option<Bookmark>,
    pub(super) events: Vec<SequencedEvent>,
    is_last: bool,
}

/// The chunks of a stream, as its consumer gets them.
pub(super) struct Chunks {
    receiver: mpsc::Receiver<Result<Chunk, Error>>,
    /// The number of the chunk that the consumer waits for, or has waited for last; from 1.
    asks: watch::Sender<u64>,
    received: u64,
    ended: bool,
}

impl Chunks {
    /// The first chunk.
    pub(super) async fn next(&mut self) -> Result<Chunk, Error> {
        let next = poll_fn(|cx| self.poll_next(cx)).await;
        next.unwrap_or(Err(Fault::Closed.into()))
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // Without a last chunk, the runtime shut down and dropped the task.
        let received = self.receiver.poll_recv(cx);
        if received.is_pending() {
            self.asks.send_replace(self.received + 1);
        }
        let chunk = ready!(received).unwrap_or(Err(Fault::Closed.into()));
        self.received += 1;
        self.ended = chunk.as_ref().map_or(true, |chunk| chunk.is_last);
        Poll::Ready(Some(chunk))
    }
}

/// The consumer of a stream, as the task that reads sees it.
pub(super) struct Consumer {
    sender: mpsc::Sender<Result<Chunk, Error>>,
    asked: watch::Receiver<u64>,
    /// The number of chunks so far.
    sent: u64,
    /// The events of the next chunk.
    events: Vec<SequencedEvent>,
    size_bytes: usize,
    /// Whether the consumer has the head.
    knows_head: bool,
}

impl Consumer {
    pub(super) fn push(&mut self, event: SequencedEvent) {
        self.size_bytes += event.size_bytes();
        self.events.push(event);
    }

    pub(super) fn is_full(&self) -> bool {
        self.size_bytes >= CHUNK_BYTES
    }

    /// Ends the stream.
    pub(super) async fn end(mut self, head: Result<Option<Bookmark>, Error>) {
        let last = head.map(|head| self.chunk(head, true));
        // An error means that the stream was dropped.
        let _ = self.sender.send(last).await;
    }

    fn chunk(&mut self, head: Option<Bookmark>, is_last: bool) -> Chunk {
        self.size_bytes = 0;
        self.sent += 1;
        self.knows_head = true;
        Chunk {
            head,
            events: std::mem::take(&mut self.events),
            is_last,
        }
    }

    /// Passes on the events so far, if the consumer has taken the previous chunk.
    pub(super) fn offer(&mut self, head: Option<Bookmark>) {
        let has_news = !self.events.is_empty() || !self.knows_head;
        if has_news && let Ok(place) = self.sender.clone().try_reserve_owned() {
            place.send(Ok(self.chunk(head, false)));
        }
    }

    /// Passes on the chunk. False if the consumer does not take the previous one in time.
    pub(super) async fn takes_in_time(&mut self, head: Option<Bookmark>) -> bool {
        timeout(PATIENCE, self.pass_on(head)).await.is_ok()
    }

    /// Passes on the chunk, once the consumer has taken the previous one.
    async fn pass_on(&mut self, head: Option<Bookmark>) {
        // An error means that the stream was dropped, which ends the task.
        if let Ok(place) = self.sender.clone().reserve_owned().await {
            place.send(Ok(self.chunk(head, false)));
        }
    }

    /// Passes on the events so far, and waits until the consumer asks for more. So if a stream is
    /// dropped early, no further page was read. Returns false if it was dropped.
    pub(super) async fn pass_on_rest(&mut self, head: Option<Bookmark>) -> bool {
        if !self.events.is_empty() {
            self.pass_on(head).await;
        }
        let sent = self.sent;
        self.asked.wait_for(|asked| *asked > sent).await.is_ok()
    }
}
