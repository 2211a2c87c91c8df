//! Prometheus' remote write, version 1: protocol buffers compressed with Snappy.
//!
//! [`write()`] takes what another server sends; [`Forwarder`] sends on. Exemplars are ignored.

mod encode;
mod forwarder;
mod message;
mod protobuf;
mod queue;
mod receive;
mod transport;

pub use encode::encode;
pub use forwarder::{ForwardStats, Forwarder, ForwarderOptions};
pub use queue::QueueFull;
pub use receive::{MAX_DECODED_BYTES, Malformed, write};
pub use transport::{SendError, Transport};
