use super::protobuf::Truncated;
use super::receive::{Malformed, decompress, write_message};
use super::receive_v2;
use crate::wire::{Fault, Ingested};
use crate::{Db, Exemplar, Exemplars, Labels, LabelsBuilder, Sample};

/// The fault of a native histogram.
pub(super) const NATIVE_HISTOGRAM: &str = "native histograms are not stored";

/// A version of the protocol, which a sender names in the header `Content-Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `prometheus.WriteRequest`, or a request that names no version.
    V1,
    /// `io.prometheus.write.v2.Request`.
    V2,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
#[must_use = "samples may have been refused"]
pub struct Received {
    /// The samples. Indexes count samples and native histograms from zero through the whole
    /// request; a refused exemplar has the index after the last of them.
    pub ingested: Ingested,
    /// The number of exemplars that were stored.
    pub exemplars: usize,
    /// The number of native histograms, which were all refused.
    pub histograms: usize,
}

/// Writes the samples, the metadata and the exemplars of a request. A native histogram counts as
/// one sample and is refused.
///
/// A request of version 2 can say when a counter began. If that is after all samples of its series,
/// a zero is written at that time, so that the first sample counts as an increase. Such zeros don't
/// count as written.
///
/// # Errors
/// [`Malformed`]: the body is not a write request or too large. Nothing was written.
pub fn receive(
    db: &Db,
    exemplars: &Exemplars,
    version: Version,
    body: &[u8],
) -> Result<Received, Malformed> {
    let message = decompress(body)?;
    let received = match version {
        Version::V1 => write_message(db, Some(exemplars), &message),
        Version::V2 => receive_v2::write(db, exemplars, &message),
    };
    received.map_err(|Truncated| Malformed::Message)
}

/// Stores an exemplar with the labels that are in the builder.
pub(super) fn store_exemplar(
    exemplars: &Exemplars,
    series: &Labels,
    labels: &mut LabelsBuilder,
    sample: Sample,
) -> Result<(), Fault> {
    let labels = labels.build()?;
    match exemplars.add(series.clone(), Exemplar { labels, sample }) {
        true => Ok(()),
        false => Err(Fault::form("the exemplar is too large")),
    }
}
