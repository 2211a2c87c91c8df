use bytes::Bytes;
use futures_core::Stream;

use super::{Mailbox, Turn};
use crate::guard::Slot;

/// A response that is made chunk by chunk. A clone makes the same bytes again.
pub(crate) trait Chunks: Clone + Send + 'static {
    type Error: std::fmt::Display + Send;

    /// The next chunk, empty at the end.
    fn chunk(&mut self) -> impl Future<Output = Result<Vec<u8>, Self::Error>> + Send;
}

/// The body of a long response: the chunk `first`, then all later ones, in pieces that the outbox
/// has memory for. A rest that it has no memory for is dropped, and made again when it is due.
/// `before` is the state before `first`, and `chunks` the state after it.
///
/// If a chunk fails, the body ends with an error, so that no client takes it for complete.
pub(crate) fn pieces<C: Chunks>(
    mailbox: Mailbox,
    before: C,
    chunks: C,
    first: Vec<u8>,
    slot: Slot,
) -> impl Stream<Item = Result<Bytes, C::Error>> + Send + 'static {
    async_stream::try_stream! {
        let _slot = slot;
        let mut pieces = Pieces { mailbox, chunks, begun: 0 };
        let turn = pieces.mailbox.turn().await;
        yield pieces.piece(before, first, turn);
        loop {
            let turn = pieces.mailbox.turn().await;
            let made = pieces.made().await;
            let (before, chunk) = made.inspect_err(|failed| {
                tracing::warn!(%failed, "a response was cut off");
            })?;
            if chunk.is_empty() {
                break;
            }
            yield pieces.piece(before, chunk, turn);
        }
    }
}

struct Pieces<C> {
    mailbox: Mailbox,
    chunks: C,
    /// The next chunk that `chunks` makes is sent up to this byte.
    begun: usize,
}

impl<C: Chunks> Pieces<C> {
    /// The chunk in which the next piece begins, and the state before it.
    async fn made(&mut self) -> Result<(C, Vec<u8>), C::Error> {
        loop {
            let before = self.chunks.clone();
            let chunk = self.chunks.chunk().await?;
            // Chunks may be smaller when they are made again.
            if self.begun < chunk.len() || chunk.is_empty() {
                return Ok((before, chunk));
            }
            self.begun -= chunk.len();
        }
    }

    fn piece(&mut self, before: C, mut chunk: Vec<u8>, turn: Turn) -> Bytes {
        let outbox = self.mailbox.outbox();
        let (share, rest) = (outbox.share(), chunk.len() - self.begun);
        let large = if rest > share {
            outbox.large(rest)
        } else {
            None
        };
        let end = if rest <= share || large.is_some() {
            chunk.len()
        } else {
            self.begun + share
        };
        let begun = self.begun;
        if end < chunk.len() {
            self.chunks = before;
            self.begun = end;
        } else {
            self.begun = 0;
        }
        chunk.truncate(end);
        chunk.drain(..begun);
        self.mailbox.piece(chunk, turn, large)
    }
}
