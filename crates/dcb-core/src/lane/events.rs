//! The events of a lane, in chunks. A member takes the chunks that it folds without a copy of an event.

use std::mem::size_of;
use std::ops::Range;
use std::sync::Arc;

use crate::{Position, SequencedEvent};

/// Events in order.
#[derive(Default)]
pub(super) struct Events {
    /// All but the last are full.
    chunks: Vec<Arc<Chunk>>,
    len: usize,
}

type Chunk = Vec<SequencedEvent>;

/// Events of a lane, outside of its lock. While it is held, a change of its last chunk copies that chunk.
#[derive(Default)]
pub(crate) struct Taken {
    chunks: Vec<Arc<Chunk>>,
    /// The events of the first chunk before those taken.
    skipped: usize,
    len: usize,
}

impl Events {
    /// The events of a full chunk.
    const CHUNK: usize = 64;

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, event: SequencedEvent) {
        if self.len.is_multiple_of(Self::CHUNK) {
            self.chunks.push(Arc::default());
        }
        if let Some(chunk) = self.chunks.last_mut() {
            let chunk = Arc::make_mut(chunk);
            if chunk.len() == chunk.capacity() {
                // Most boundaries have few events, so a chunk grows from one.
                chunk.reserve_exact(chunk.len().max(1));
            }
            chunk.push(event);
            self.len += 1;
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.chunks.truncate(len.div_ceil(Self::CHUNK));
        let last = len % Self::CHUNK;
        if let Some(chunk) = self.chunks.last_mut()
            && last > 0
        {
            Arc::make_mut(chunk).truncate(last);
        }
        self.len = self.len.min(len);
    }

    /// Moves the event at `index` to `position` in the log.
    pub(super) fn move_to(&mut self, index: usize, position: Position) {
        let (chunk, index) = (index / Self::CHUNK, index % Self::CHUNK);
        let chunk = &mut self.chunks[chunk];
        if chunk[index].position() != position {
            Arc::make_mut(chunk)[index].move_to(position);
        }
    }

    pub(super) fn take(&self, range: Range<usize>) -> Taken {
        if range.is_empty() {
            return Taken::default();
        }
        let chunks = range.start / Self::CHUNK..range.end.div_ceil(Self::CHUNK);
        Taken {
            chunks: self.chunks[chunks].to_vec(),
            skipped: range.start % Self::CHUNK,
            len: range.len(),
        }
    }

    /// The size of the chunks, without the content of the events.
    pub(super) fn size_bytes(&self) -> usize {
        /// The counts of a chunk, its list, and what the allocator adds to both.
        const CHUNK: usize = 2 * size_of::<usize>() + size_of::<Chunk>() + 32;
        let places = self.chunks.capacity() * size_of::<Arc<Chunk>>();
        let chunk = |chunk: &Arc<Chunk>| CHUNK + chunk.capacity() * size_of::<SequencedEvent>();
        places + self.chunks.iter().map(chunk).sum::<usize>()
    }
}

impl Taken {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SequencedEvent> {
        let events = self.chunks.iter().flat_map(|chunk| chunk.iter());
        events.skip(self.skipped).take(self.len)
    }
}
