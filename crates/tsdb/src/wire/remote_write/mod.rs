//! Prometheus' remote write: protocol buffers compressed with Snappy.
//!
//! [`receive()`] takes requests of versions 1 and 2, and two senders send version 1:
//! [`LogForwarder`] the samples of a database, from its log, and [`Forwarder`] any samples, from a
//! queue in memory.
//!
//! A sender encodes the labels of a series in the same bytes every time. A database remembers the
//! series of up to 65,536 such encodings. This takes at most 20 MiB, plus a few hundred bytes for
//! each remembered series that has ended. [`Stats`](crate::Stats) does not count this memory. When
//! there are more encodings, the database forgets all of them and starts over.

mod encode;
mod exemplars_v1;
mod forwarder;
mod log_forwarder;
mod message;
mod message_v2;
mod protobuf;
mod queue;
mod receive;
mod receive_v2;
mod received;
mod transport;
mod version;
mod worker;

#[cfg(feature = "otlp")]
pub(super) use protobuf::{Fields, Value};

pub use encode::encode;
pub use forwarder::{ForwardStats, Forwarder, ForwarderOptions};
pub use log_forwarder::{LogForwardStats, LogForwarder, LogForwarderOptions};
pub use queue::QueueFull;
pub use receive::{MAX_DECODED_BYTES, Malformed, write};
pub use received::Received;
pub use transport::{SendError, Transport};
pub use version::{Version, receive};
