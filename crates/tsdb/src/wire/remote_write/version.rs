use super::protobuf::Truncated;
use super::receive::{Malformed, check_parts, decompress, write_message};
use super::receive_v2;
use super::received::Received;
use crate::{Db, Exemplars};

/// A version of the protocol, which a sender names in the header `Content-Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `prometheus.WriteRequest`, or a request that names no version.
    V1,
    /// `io.prometheus.write.v2.Request`.
    V2,
}

/// Writes the samples, the metadata and the exemplars of a request. A native histogram counts as
/// one sample and is refused.
///
/// A request of version 2 can say when a counter, a histogram, or the sum and the count of a summary
/// began. If that is after all samples of its series, a zero is written at that time, so that the first
/// sample counts as an increase. Such zeros don't count as written.
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
    check_parts(&message)?;
    let received = match version {
        Version::V1 => write_message(db, Some(exemplars), &message),
        Version::V2 => receive_v2::write(db, exemplars, &message),
    };
    received.map_err(|Truncated| Malformed::Message)
}
