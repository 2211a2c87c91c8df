//! Several series as one, by time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Sample;
use crate::chunk::frame::Columns;
use crate::cursor::SnapshotReader;
use crate::data::Snapshot;

/// The samples of several snapshots in ascending order of time: of one time, those of one snapshot
/// stand together, and snapshots follow each other in the order in which they were added.
///
/// Each snapshot has up to 128 samples decoded, or as many as it holds if these are fewer.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// The next sample's time and the source's place, for each source that has more, but for the
    /// one that was read last.
    waiting: BinaryHeap<Reverse<(i64, usize)>>,
    last: Option<usize>,
    /// What all decode in.
    columns: Box<Columns>,
}

#[derive(Debug)]
struct Source {
    reader: SnapshotReader,
    decoded: Vec<Sample>,
    /// How many of the decoded were read.
    read: usize,
}

impl Merge {
    pub(crate) fn new() -> Self {
        Self {
            sources: Vec::new(),
            waiting: BinaryHeap::new(),
            last: None,
            columns: Box::new(Columns::EMPTY),
        }
    }

    /// Adds a snapshot, before anything is read. Returns whether it has samples; one that has none
    /// takes no place.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> bool {
        let mut source = Source {
            reader: SnapshotReader::new(snapshot),
            decoded: Vec::new(),
            read: 0,
        };
        let first_ms = source.next_time(&mut self.columns);
        if let Some(first_ms) = first_ms {
            self.waiting.push(Reverse((first_ms, self.sources.len())));
            self.sources.push(source);
        }
        first_ms.is_some()
    }

    /// The next samples of one source, at least one and at most `most`, and its place; `None` after
    /// the last.
    pub(crate) fn next_run(&mut self, most: usize) -> Option<(usize, &[Sample])> {
        // Only now, for the samples of its last run may be overwritten by this.
        if let Some(last) = self.last.take()
            && let Some(next_ms) = self.sources[last].next_time(&mut self.columns)
        {
            self.waiting.push(Reverse((next_ms, last)));
        }
        let Reverse((_, place)) = self.waiting.pop()?;
        self.last = Some(place);
        let source = &mut self.sources[place];
        let rest = source.rest();
        let fitting = &rest[..most.min(rest.len())];
        let length = self.waiting.peek().map_or(fitting.len(), |Reverse(other)| {
            let before = |sample: &&Sample| (sample.timestamp_ms, place) < *other;
            fitting.iter().take_while(before).count()
        });
        source.read += length;
        Some((place, &source.decoded[source.read - length..source.read]))
    }

    /// The bytes that it keeps in memory, at most.
    pub(crate) fn size_bytes(&self) -> usize {
        let each = size_of::<Source>() + size_of::<Reverse<(i64, usize)>>();
        let sources = self.sources.iter().map(|source| {
            let decoded = source.decoded.capacity() * size_of::<Sample>();
            each + decoded + source.reader.size_bytes()
        });
        size_of::<Columns>() + sources.sum::<usize>()
    }
}

impl Source {
    fn rest(&self) -> &[Sample] {
        &self.decoded[self.read..]
    }

    /// The time of the next sample, which is decoded for it if it isn't yet.
    fn next_time(&mut self, columns: &mut Columns) -> Option<i64> {
        if self.rest().is_empty() {
            let block = self.reader.next_block(columns)?;
            let pairs = block.timestamps_ms.iter().zip(block.values);
            self.decoded.clear();
            self.decoded.reserve_exact(block.values.len());
            self.decoded
                .extend(pairs.map(|(timestamp_ms, value)| Sample::new(*timestamp_ms, *value)));
            self.read = 0;
        }
        self.rest().first().map(|sample| sample.timestamp_ms)
    }
}
