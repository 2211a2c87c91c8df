use std::sync::Arc;

use super::exemplars_v1;
use super::message::{
    MetadataPart, Part, read_labels, read_metadata, read_request, read_samples, split_series,
};
use super::protobuf::{Fields, Truncated, Value};
use super::received::{NATIVE_HISTOGRAM, Received};
use crate::db::{Aliases, NewAlias};
use crate::journal::SeriesId;
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};
use crate::{Db, Exemplars, LabelsBuilder, Metadata, Sample};

/// The maximum decompressed size of a request to [`write()`], the same as in other servers: 32 MiB.
pub const MAX_DECODED_BYTES: usize = 32 << 20;

/// A body that is not a write request. Nothing was written, and the sender must not retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The body is not compressed with Snappy's block format, or is damaged. Compress it so.
    #[error("the body is not compressed with snappy")]
    Compression,
    /// The decompressed size that the body claims exceeds the limit. Send smaller requests.
    #[error("the request has {actual} bytes, {max} are accepted")]
    TooLarge {
        /// The limit.
        max: usize,
        /// The claimed size.
        actual: usize,
    },
    /// A series takes more than 2 MiB, or the request has more than a million symbols. Send smaller
    /// series or requests.
    #[error("the request has a series of more than 2 MiB or more than 1048576 symbols")]
    PartTooLarge,
    /// The decompressed body is not a write request. Correct the sender.
    #[error("the body is not a write request")]
    Message,
}

/// The maximum ratio of decompressed to compressed size. Snappy's densest element expands 3 bytes
/// to 64.
const MAX_EXPANSION: usize = 22;

/// A request above this size is checked as a whole, and then written in parts of about this size. Each
/// byte of a part can take 20 bytes of memory.
pub(super) const PART_BYTES: usize = 1 << 20;

/// The most bytes of a series in a request, which is never divided.
const MAX_SERIES_BYTES: usize = 2 << 20;
/// The most symbols of a request of version 2.
const MAX_SYMBOLS: usize = 1 << 20;

/// About the minimum size of a series in a request.
const SERIES_BYTES: usize = 64;

/// Writes the samples and the metadata of a request of version 1. Indexes in [`Ingested`] count
/// samples from zero through the whole request. A native histogram counts as one sample and is
/// refused; exemplars are ignored. [`receive`](super::receive()) stores them.
///
/// # Errors
/// [`Malformed`]: the body is not a write request or too large. Nothing was written.
pub fn write(db: &Db, body: &[u8]) -> Result<Ingested, Malformed> {
    let message = decompress(body)?;
    check_parts(&message)?;
    let received = write_message(db, None, &message);
    let received = received.map_err(|Truncated| Malformed::Message)?;
    Ok(received.ingested)
}

/// Checks that no part of a request takes much memory by itself.
pub(super) fn check_parts(message: &[u8]) -> Result<(), Malformed> {
    if message.len() <= PART_BYTES {
        return Ok(());
    }
    let mut symbols = 0;
    let mut fields = Fields::new(message);
    while let Some(field) = fields.next().map_err(|Truncated| Malformed::Message)? {
        if let (number, Value::Bytes(bytes)) = field {
            symbols += usize::from(number == 4);
            if bytes.len() > MAX_SERIES_BYTES || symbols > MAX_SYMBOLS {
                return Err(Malformed::PartTooLarge);
            }
        }
    }
    Ok(())
}

/// The parts of a request, which are requests too.
pub(super) fn parts(message: &[u8]) -> impl Iterator<Item = Result<&[u8], Truncated>> {
    let mut rest = message;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut fields = Fields::new(rest);
        while !fields.rest().is_empty() && rest.len() - fields.rest().len() < PART_BYTES {
            if let Err(truncated) = fields.next() {
                rest = &[];
                return Some(Err(truncated));
            }
        }
        let (part, after) = rest.split_at(rest.len() - fields.rest().len());
        rest = after;
        Some(Ok(part))
    })
}

/// Writes a decompressed request. Without `exemplars`, those of the request are ignored.
pub(super) fn write_message(
    db: &Db,
    exemplars: Option<&Exemplars>,
    message: &[u8],
) -> Result<Received, Truncated> {
    if message.len() > PART_BYTES {
        check(message, exemplars.is_some())?;
    }
    let mut received = Received::default();
    for part in parts(message) {
        received.extend(write_part(db, exemplars, part?)?);
    }
    Ok(received)
}

/// Checks a request without keeping anything of it.
fn check(message: &[u8], keeps_exemplars: bool) -> Result<(), Truncated> {
    let (mut labels, mut samples) = (LabelsBuilder::default(), Vec::new());
    read_request(message, |part| match part {
        Part::Series(series) => {
            labels.clear();
            samples.clear();
            read_labels(series, &mut labels)?;
            let (_, rest) = split_series(series)?;
            let others = read_samples(rest, &mut samples)?;
            match others.exemplars && keeps_exemplars {
                true => exemplars_v1::check(series),
                false => Ok(()),
            }
        }
        Part::Metadata(part) => read_metadata(part).map(drop),
    })
}

fn write_part(
    db: &Db,
    exemplars: Option<&Exemplars>,
    message: &[u8],
) -> Result<Received, Truncated> {
    let mut receiver = Receiver::new(db, exemplars.is_some());
    db.with_aliases(|aliases| {
        // A guess: as many series as the sender has named before.
        receiver.reserve(aliases.len().min(message.len() / SERIES_BYTES));
        read_request(message, |part| match part {
            Part::Series(series) => receiver.series(series, aliases),
            Part::Metadata(part) => receiver.check_metadata(part),
        })
    })?;
    let mut stored = 0;
    if receiver.has_annotations {
        // The request is read again, now that all of it is known to be valid. A list of its parts
        // could take many times the memory of the message.
        read_request(message, |part| {
            match (part, exemplars) {
                (Part::Metadata(part), _) => receiver.metadata(db, &read_metadata(part)?),
                (Part::Series(series), Some(exemplars)) => {
                    stored += exemplars_v1::store(series, exemplars, &mut receiver.points)?;
                }
                (Part::Series(_), None) => {}
            }
            Ok(())
        })?;
    }
    let histograms = receiver.histograms;
    Ok(Received {
        samples: receiver.points.seen(),
        ingested: receiver.write(db),
        exemplars: stored,
        histograms,
    })
}

/// Collects the series of a request and writes them to a database.
struct Receiver<'m> {
    points: Points,
    named: Vec<NamedSeries<'m>>,
    keeps_exemplars: bool,
    /// Whether the request has metadata, or exemplars that are kept.
    has_annotations: bool,
    histograms: usize,
    /// The index of the alias that is expected next: senders keep the order of their series.
    next: usize,
    /// Buffers, kept between series.
    labels: LabelsBuilder,
    samples: Vec<Sample>,
}

/// A series to be written, and the bytes that encode its labels.
struct NamedSeries<'m> {
    bytes: &'m [u8],
    /// Its index in the batch.
    batch_index: u32,
    /// The series that already has these bytes as an alias, if any.
    known: Option<SeriesId>,
}

impl<'m> Receiver<'m> {
    fn new(db: &Db, keeps_exemplars: bool) -> Self {
        Self {
            points: Points::within(db),
            named: Vec::new(),
            keeps_exemplars,
            has_annotations: false,
            histograms: 0,
            next: 0,
            labels: LabelsBuilder::default(),
            samples: Vec::new(),
        }
    }

    /// Allocates memory for this many series.
    fn reserve(&mut self, series: usize) {
        self.points.reserve(series);
        self.named.reserve(series);
    }

    fn series(&mut self, message: &'m [u8], aliases: &Aliases) -> Result<(), Truncated> {
        self.samples.clear();
        // Senders repeat their series in the same order, so the next alias is tried before a
        // lookup.
        let (bytes, rest, alias) = match aliases.strip(self.next, message) {
            Some(rest) => (
                &message[..message.len() - rest.len()],
                rest,
                Some(self.next),
            ),
            None => {
                let (bytes, rest) = split_series(message)?;
                (bytes, rest, aliases.find(bytes))
            }
        };
        let others = read_samples(rest, &mut self.samples)?;
        if self.samples.is_empty() && !others.labels && others.histograms == 0 && !others.exemplars
        {
            // A list of such series could take many times the memory of the message.
            self.labels.clear();
            return read_labels(message, &mut self.labels);
        }
        // Labels may also follow the samples. Then the leading bytes alone do not name the series,
        // even if they are an alias.
        if others.labels {
            self.push_by_labels(message, None)?;
        } else if let Some(alias) = alias {
            self.next = alias + 1;
            let (labels, cell) = aliases.series(alias);
            let batch_index = self.points.push_series(labels, Some(cell), &self.samples);
            let known = Some(cell.key.id);
            self.named.push(NamedSeries {
                bytes,
                batch_index,
                known,
            });
        } else {
            self.push_by_labels(bytes, Some(bytes))?;
        }
        self.histograms += others.histograms;
        for _ in 0..others.histograms {
            self.points.refuse(Fault::form(NATIVE_HISTOGRAM));
        }
        if others.exemplars && self.keeps_exemplars {
            exemplars_v1::check(message)?;
            self.has_annotations = true;
        }
        Ok(())
    }

    fn check_metadata(&mut self, part: &[u8]) -> Result<(), Truncated> {
        read_metadata(part)?;
        self.has_annotations = true;
        Ok(())
    }

    /// Sets the metadata of a metric if it has changed.
    fn metadata(&mut self, db: &Db, part: &MetadataPart<'_>) {
        let new = Metadata {
            kind: part.kind,
            help: part.help.to_owned(),
        };
        if !part.metric.is_empty() && db.metadata(part.metric).unwrap_or_default() != new {
            db.set_metadata(part.metric, new)
                .unwrap_or_else(|error| self.points.refuse(error.into()));
        }
    }

    /// Adds a series by the labels in `message`. `alias` becomes an alias of the series.
    fn push_by_labels(&mut self, message: &[u8], alias: Option<&'m [u8]>) -> Result<(), Truncated> {
        self.labels.clear();
        read_labels(message, &mut self.labels)?;
        match self.labels.build_ref() {
            Ok(labels) => {
                let batch_index = self.points.push_series(labels, None, &self.samples);
                let known = None;
                self.named.extend(alias.map(|bytes| NamedSeries {
                    bytes,
                    batch_index,
                    known,
                }));
            }
            Err(error) => {
                // Refuses each sample, because indexes count samples.
                let refuse = |_| self.points.refuse(error.clone().into());
                self.samples.iter().for_each(refuse);
            }
        }
        Ok(())
    }

    /// Writes the samples, and adds aliases for their series to the database.
    fn write(self, db: &Db) -> Ingested {
        let Self { points, named, .. } = self;
        points.write_then(db, |batch| {
            db.add_aliases(named.iter().filter_map(|name| {
                let bytes = name.bytes;
                match batch.series(name.batch_index) {
                    // An alias that still leads to this series needs no update.
                    (labels, Some(cell)) if name.known != Some(cell.key.id) => {
                        let cell = Arc::clone(cell);
                        Some(NewAlias {
                            bytes,
                            labels,
                            cell,
                        })
                    }
                    _ => None,
                }
            }));
        })
    }
}

/// Decompresses a body. Before it allocates memory, it rejects a claimed size that a body of this
/// length cannot expand to.
pub(super) fn decompress(body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let actual = snap::raw::decompress_len(body).map_err(|_| Malformed::Compression)?;
    if actual > MAX_DECODED_BYTES {
        return Err(Malformed::TooLarge {
            max: MAX_DECODED_BYTES,
            actual,
        });
    }
    if actual > body.len().saturating_mul(MAX_EXPANSION) {
        return Err(Malformed::Compression);
    }
    snap::raw::Decoder::new()
        .decompress_vec(body)
        .map_err(|_| Malformed::Compression)
}
