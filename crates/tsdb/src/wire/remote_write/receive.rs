use std::sync::Arc;

use super::message::{
    MetadataPart, Part, read_labels, read_metadata, read_request, read_samples, split_series,
};
use super::protobuf::Truncated;
use crate::db::{Aliases, Named};
use crate::journal::SeriesId;
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};
use crate::{Db, LabelsBuilder, Metadata, Sample};

/// The longest request that [`write()`] decompresses, as servers of the protocol bound it: 32 MiB.
pub const MAX_DECODED_BYTES: usize = 32 << 20;

/// A body that is no write request. Nothing was written; the sender must not try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The body is not compressed with Snappy's block format, or is damaged.
    #[error("the body is not compressed with snappy")]
    Compression,
    /// The body says that it decompresses to more than is accepted. Send smaller requests.
    #[error("the request has {actual} bytes, {max} are accepted")]
    TooLarge {
        /// The limit.
        max: usize,
        /// What it says.
        actual: usize,
    },
    /// What was compressed is no write request.
    #[error("the body is no write request")]
    Message,
}

/// Snappy's densest element makes 64 bytes of 3.
const MAX_EXPANSION: usize = 22;

/// The fewest bytes of a series, about.
const SERIES_BYTES: usize = 64;

/// Writes the samples of a request, and what it says of its metrics. Places in [`Ingested`] are
/// samples, counted from zero through the whole request; a native histogram counts as one and is
/// refused.
///
/// # Errors
/// [`Malformed`], before anything is written.
pub fn write(db: &Db, body: &[u8]) -> Result<Ingested, Malformed> {
    let message = decompress(body)?;
    let mut receiver = Receiver::new(db);
    let mut has_metadata = false;
    db.with_aliases(|aliases| {
        receiver.expect(aliases.len().min(message.len() / SERIES_BYTES));
        read_request(&message, |part| {
            match part {
                Part::Series(series) => receiver.series(series, aliases)?,
                Part::Metadata(part) => {
                    read_metadata(part)?;
                    has_metadata = true;
                }
            }
            Ok(())
        })
    })
    .map_err(|Truncated| Malformed::Message)?;
    if has_metadata {
        // Read again now that all of it is known to be right: a list of it could take many times
        // the memory of the message.
        read_request(&message, |part| {
            if let Part::Metadata(part) = part {
                receiver.metadata(db, &read_metadata(part)?);
            }
            Ok(())
        })
        .map_err(|Truncated| Malformed::Message)?;
    }
    Ok(receiver.write(db))
}

/// The series of a request on their way into a database.
struct Receiver<'m> {
    points: Points,
    named: Vec<Unwritten<'m>>,
    /// The place of the alias that is expected next.
    next: usize,
    /// Buffers.
    labels: LabelsBuilder,
    samples: Vec<Sample>,
}

/// How a series is named that is to be written.
struct Unwritten<'m> {
    bytes: &'m [u8],
    /// Its place in the batch.
    place: u32,
    /// Which series it was, if the name is an alias.
    known: Option<SeriesId>,
}

impl<'m> Receiver<'m> {
    fn new(db: &Db) -> Self {
        Self {
            points: Points::within(db),
            named: Vec::new(),
            next: 0,
            labels: LabelsBuilder::default(),
            samples: Vec::new(),
        }
    }

    /// Takes the memory for so many series.
    fn expect(&mut self, series: usize) {
        self.points.reserve(series);
        self.named.reserve(series);
    }

    fn series(&mut self, message: &'m [u8], aliases: &Aliases) -> Result<(), Truncated> {
        self.samples.clear();
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
        // Labels may follow, be it behind the alias.
        if others.labels {
            self.unknown(message, None)?;
        } else if let Some(alias) = alias {
            self.next = alias + 1;
            let (labels, cell) = aliases.series(alias);
            let place = self.points.push_series(labels, Some(cell), &self.samples);
            let known = Some(cell.key.id);
            self.named.push(Unwritten {
                bytes,
                place,
                known,
            });
        } else {
            self.unknown(bytes, Some(bytes))?;
        }
        if others.histograms {
            self.points
                .refuse(Fault::form("native histograms are not stored"));
        }
        Ok(())
    }

    /// Writes what is said of a metric, unless it is known.
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

    /// A series whose labels stand in `message`; `alias` is what will name it.
    fn unknown(&mut self, message: &[u8], alias: Option<&'m [u8]>) -> Result<(), Truncated> {
        self.labels.clear();
        read_labels(message, &mut self.labels)?;
        match self.labels.build_ref() {
            Ok(labels) => {
                let place = self.points.push_series(labels, None, &self.samples);
                let known = None;
                self.named.extend(alias.map(|bytes| Unwritten {
                    bytes,
                    place,
                    known,
                }));
            }
            Err(error) => {
                let refuse = |_| self.points.refuse(error.clone().into());
                self.samples.iter().for_each(refuse);
            }
        }
        Ok(())
    }

    /// Writes the samples, and has the database remember where their series are.
    fn write(self, db: &Db) -> Ingested {
        let Self { points, named, .. } = self;
        points.write_then(db, |batch| {
            db.learn(named.iter().filter_map(|name| {
                let bytes = name.bytes;
                match batch.series(name.place) {
                    (labels, Some(cell)) if name.known != Some(cell.key.id) => {
                        let cell = Arc::clone(cell);
                        Some(Named {
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

/// Memory is taken for what the body can hold, not for what it says that it holds.
fn decompress(body: &[u8]) -> Result<Vec<u8>, Malformed> {
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
