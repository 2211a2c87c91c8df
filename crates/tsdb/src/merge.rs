//! Merges the samples of several series in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Sample;
use crate::chunk::frame::Columns;
use crate::cursor::SnapshotReader;
use crate::data::Snapshot;

/// Reads several snapshots in ascending order of time. Samples with equal timestamps come snapshot
/// by snapshot, in the order in which the snapshots were added.
///
/// Keeps at most 128 decoded samples per snapshot.
#[derive(Debug)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    /// For each source that has more samples, except `last`: the timestamp of its next sample, and
    /// its index.
    queue: BinaryHeap<Reverse<(i64, usize)>>,
    /// The source that was read last.
    last: Option<usize>,
    /// The decode buffer of all sources.
    columns: Box<Columns>,
}

#[derive(Debug)]
struct Source {
    reader: SnapshotReader,
    decoded: Vec<Sample>,
    /// The number of decoded samples already read.
    read: usize,
}

impl Merge {
    pub(crate) fn new() -> Self {
        Self {
            sources: Vec::new(),
            queue: BinaryHeap::new(),
            last: None,
            columns: Box::new(Columns::EMPTY),
        }
    }

    /// Adds a snapshot; call it before reading. Returns whether the snapshot has samples. An empty
    /// one is not added and gets no index.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> bool {
        let mut source = Source {
            reader: SnapshotReader::new(snapshot),
            decoded: Vec::new(),
            read: 0,
        };
        let first_ms = source.next_time(&mut self.columns);
        if let Some(first_ms) = first_ms {
            self.queue.push(Reverse((first_ms, self.sources.len())));
            self.sources.push(source);
        }
        first_ms.is_some()
    }

    /// Returns the next samples of one source, at least one and at most `max`, and the index of the
    /// source; `None` at the end.
    pub(crate) fn next_run(&mut self, max: usize) -> Option<(usize, &[Sample])> {
        // Decode only now: this overwrites the samples that the last call returned.
        if let Some(last) = self.last.take()
            && let Some(next_ms) = self.sources[last].next_time(&mut self.columns)
        {
            self.queue.push(Reverse((next_ms, last)));
        }
        let Reverse((_, index)) = self.queue.pop()?;
        self.last = Some(index);
        let source = &mut self.sources[index];
        let rest = source.rest();
        let fitting = &rest[..max.min(rest.len())];
        let length = self.queue.peek().map_or(fitting.len(), |Reverse(other)| {
            let before = |sample: &&Sample| (sample.timestamp_ms, index) < *other;
            fitting.iter().take_while(before).count()
        });
        source.read += length;
        Some((index, &source.decoded[source.read - length..source.read]))
    }

    /// Returns an upper bound for the bytes in memory.
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

    /// Returns the timestamp of the next sample. Decodes more samples if none is left.
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
