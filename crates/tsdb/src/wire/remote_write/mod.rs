//! Prometheus' remote write, version 1: protocol buffers compressed with Snappy.
//!
//! [`write()`] takes what another server sends; [`Forwarder`] sends on. Exemplars are ignored.
//!
//! A sender names its series in the same bytes every time. A database remembers where it found
//! those, up to 65,536 of them and in at most 20 MiB, which is in no [`Stats`](crate::Stats), with a
//! few hundred bytes of each that has ended since; when there are more, it forgets them and begins
//! anew.

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
