use super::message::{Part, read_metadata, read_request, read_series};
use super::protobuf::Truncated;
use crate::wire::points::Points;
use crate::wire::{Fault, Ingested};
use crate::{Db, LabelsBuilder, Metadata};

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

/// Writes the samples of a request, and what it says of its metrics. Places in [`Ingested`] are
/// samples, counted from zero through the whole request; a native histogram counts as one and is
/// refused.
///
/// # Errors
/// [`Malformed`], before anything is written.
pub fn write(db: &Db, body: &[u8]) -> Result<Ingested, Malformed> {
    let message = decompress(body)?;
    let mut points = Points::default();
    let mut metadata = Vec::new();
    let mut labels = LabelsBuilder::default();
    let mut samples = Vec::new();
    read_request(&message, |part| {
        match part {
            Part::Series(series) => {
                labels.clear();
                samples.clear();
                let histograms = read_series(series, &mut labels, &mut samples)?;
                match labels.build_ref() {
                    Ok(labels) => {
                        samples
                            .iter()
                            .for_each(|sample| points.push(labels, *sample));
                    }
                    Err(error) => {
                        samples
                            .iter()
                            .for_each(|_| points.refuse(error.clone().into()));
                    }
                }
                if histograms {
                    points.refuse(Fault::form("native histograms are not stored"));
                }
            }
            Part::Metadata(part) => metadata.push(read_metadata(part)?),
        }
        Ok(())
    })
    .map_err(|Truncated| Malformed::Message)?;
    for part in metadata {
        let new = Metadata {
            kind: part.kind,
            help: part.help.to_owned(),
        };
        if !part.metric.is_empty() && db.metadata(part.metric).as_ref() != Some(&new) {
            db.set_metadata(part.metric, new)
                .unwrap_or_else(|error| points.refuse(error.into()));
        }
    }
    Ok(points.write(db))
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
