//! The entries of a frame: changes to the database.

use super::run::{self, MAX_RUN};
use super::varint::{self, take as take_varint, unzigzag, zigzag};
use crate::journal::SeriesId;
use crate::{Labels, Metadata, MetricKind, Sample};

/// The first byte of an entry.
mod kind {
    pub(super) const CLOCK: u8 = 1;
    pub(super) const SAMPLE: u8 = 2;
    pub(super) const RUN: u8 = 3;
    pub(super) const BEGIN: u8 = 4;
    pub(super) const END: u8 = 5;
    pub(super) const DELETE: u8 = 6;
    pub(super) const METADATA: u8 = 7;
    pub(super) const CLOSED: u8 = 8;
}

/// The metric kinds by their number in the file.
const METRIC_KINDS: [MetricKind; 5] = [
    MetricKind::Unknown,
    MetricKind::Counter,
    MetricKind::Gauge,
    MetricKind::Histogram,
    MetricKind::Summary,
];

/// One change to the database.
#[derive(Debug)]
pub(crate) enum Entry<'a> {
    /// A series begins.
    Begin(SeriesId, Labels),
    /// Samples of a series, in the order of arrival.
    Samples(SeriesId, &'a [Sample]),
    /// The samples of a series between two timestamps, both inclusive, are deleted.
    Delete(SeriesId, i64, i64),
    /// A series has ended.
    End(SeriesId),
    /// The metadata of a metric is set.
    Metadata(&'a str, Metadata),
    /// The log was closed, or the snapshot is complete.
    Closed,
}

/// A buffer of encoded entries.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    bytes: Vec<u8>,
    /// The timestamp of the last sample; `None` before the first.
    clock: Option<i64>,
}

impl Entries {
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the entries, and keeps at most `capacity` bytes of memory.
    pub(crate) fn clear(&mut self, capacity: usize) {
        self.clock = None;
        self.bytes.clear();
        // A burst may have made the buffer large.
        self.bytes.shrink_to(capacity);
    }

    pub(crate) fn begin(&mut self, id: SeriesId, labels: &Labels) {
        self.head(kind::BEGIN, id);
        varint::push(&mut self.bytes, labels.len() as u64);
        for label in labels {
            self.text(label.name);
            self.text(label.value);
        }
    }

    /// Adds samples. Adds no entry if there are none.
    #[inline]
    pub(crate) fn samples(&mut self, id: SeriesId, samples: &[Sample]) {
        if let [sample] = samples {
            self.sample(id, *sample);
        } else {
            for samples in samples.chunks(MAX_RUN) {
                self.run(id, samples);
            }
        }
    }

    /// Adds one sample.
    #[inline]
    pub(crate) fn sample(&mut self, id: SeriesId, sample: Sample) {
        let timestamp_ms = sample.timestamp_ms;
        let clock = self.clock(timestamp_ms);
        // This is the most frequent write, so assemble the entry on the stack and copy it once.
        let mut entry = [0; 1 + 2 * varint::MAX_LENGTH + 8];
        entry[0] = kind::SAMPLE;
        let mut length = 1 + varint::write(&mut entry[1..], id.0);
        let distance = zigzag(timestamp_ms.wrapping_sub(clock));
        length += varint::write(&mut entry[length..], distance);
        entry[length..length + 8].copy_from_slice(&sample.value.to_bits().to_le_bytes());
        self.bytes.extend_from_slice(&entry[..length + 8]);
        self.clock = Some(timestamp_ms);
    }

    fn run(&mut self, id: SeriesId, samples: &[Sample]) {
        let clock = self.clock(samples[0].timestamp_ms);
        self.head(kind::RUN, id);
        varint::push(&mut self.bytes, samples.len() as u64);
        run::push(&mut self.bytes, samples, clock);
        self.clock = Some(samples[samples.len() - 1].timestamp_ms);
    }

    /// Returns the timestamp that the next distance is relative to. The first call for a buffer
    /// also writes this timestamp: a frame joins the buffers of several shards, so each buffer
    /// needs its own.
    #[inline]
    fn clock(&mut self, timestamp_ms: i64) -> i64 {
        self.clock.unwrap_or_else(|| {
            self.bytes.push(kind::CLOCK);
            self.number(timestamp_ms);
            timestamp_ms
        })
    }

    pub(crate) fn delete(&mut self, id: SeriesId, from_ms: i64, to_ms: i64) {
        self.head(kind::DELETE, id);
        self.number(from_ms);
        self.number(to_ms);
    }

    pub(crate) fn end(&mut self, id: SeriesId) {
        self.head(kind::END, id);
    }

    pub(crate) fn metadata(&mut self, metric: &str, metadata: &Metadata) {
        self.bytes.push(kind::METADATA);
        self.text(metric);
        let number = METRIC_KINDS.iter().position(|k| *k == metadata.kind);
        self.bytes.push(number.unwrap_or_default() as u8);
        self.text(&metadata.help);
    }

    pub(crate) fn closed(&mut self) {
        self.bytes.push(kind::CLOSED);
    }

    fn head(&mut self, kind: u8, id: SeriesId) {
        self.bytes.push(kind);
        varint::push(&mut self.bytes, id.0);
    }

    fn number(&mut self, number: i64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        varint::push(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

/// Decodes entries.
#[derive(Debug)]
pub(crate) struct EntryReader {
    clock: i64,
    run: Box<[Sample; MAX_RUN]>,
}

impl EntryReader {
    pub(crate) fn new() -> Self {
        Self {
            clock: 0,
            run: Box::new([Sample::new(0, 0.0); MAX_RUN]),
        }
    }

    /// Decodes the next entry; `None` if the bytes are not an entry. `bytes` must not be empty.
    #[inline]
    pub(crate) fn next<'a, 'b: 'a>(&'a mut self, bytes: &mut &'b [u8]) -> Option<Entry<'a>> {
        loop {
            let (&kind, rest) = bytes.split_first()?;
            *bytes = rest;
            match kind {
                kind::CLOCK => self.clock = take_number(bytes)?,
                kind::SAMPLE => return self.sample(bytes),
                kind::RUN => return self.run(bytes),
                _ => return take_other(kind, bytes),
            }
        }
    }

    #[inline]
    fn sample<'a>(&'a mut self, bytes: &mut &[u8]) -> Option<Entry<'a>> {
        let id = take_id(bytes)?;
        self.clock = self.clock.wrapping_add(unzigzag(take_varint(bytes)?));
        let (value, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        self.run[0] = Sample::new(self.clock, f64::from_bits(u64::from_le_bytes(*value)));
        Some(Entry::Samples(id, &self.run[..1]))
    }

    fn run<'a>(&'a mut self, bytes: &mut &[u8]) -> Option<Entry<'a>> {
        let id = take_id(bytes)?;
        let count = usize::try_from(take_varint(bytes)?).ok()?;
        // Fails for a count above `MAX_RUN`, before any memory is allocated for it.
        let samples = self.run.get_mut(..count)?;
        run::take(bytes, samples, self.clock)?;
        self.clock = samples.last()?.timestamp_ms;
        Some(Entry::Samples(id, samples))
    }
}

/// Decodes an entry without samples. A separate function keeps the loop over samples small.
fn take_other<'a>(kind: u8, bytes: &mut &'a [u8]) -> Option<Entry<'a>> {
    Some(match kind {
        kind::BEGIN => Entry::Begin(take_id(bytes)?, take_labels(bytes)?),
        kind::END => Entry::End(take_id(bytes)?),
        kind::DELETE => Entry::Delete(take_id(bytes)?, take_number(bytes)?, take_number(bytes)?),
        kind::METADATA => take_metadata(bytes)?,
        kind::CLOSED => Entry::Closed,
        _ => return None,
    })
}

fn take_labels(bytes: &mut &[u8]) -> Option<Labels> {
    let mut builder = Labels::builder();
    for _ in 0..take_varint(bytes)? {
        builder.label(take_text(bytes)?, take_text(bytes)?);
    }
    builder.build().ok()
}

fn take_metadata<'a>(bytes: &mut &'a [u8]) -> Option<Entry<'a>> {
    let metric = take_text(bytes)?;
    let (&kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let kind = *METRIC_KINDS.get(usize::from(kind))?;
    let help = take_text(bytes)?.to_owned();
    Some(Entry::Metadata(metric, Metadata { kind, help }))
}

#[inline]
fn take_id(bytes: &mut &[u8]) -> Option<SeriesId> {
    take_varint(bytes).map(SeriesId)
}

fn take_number(bytes: &mut &[u8]) -> Option<i64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(i64::from_le_bytes(*number))
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(take_varint(bytes)?).ok()?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    std::str::from_utf8(text).ok()
}
