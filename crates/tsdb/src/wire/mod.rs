//! Formats for reading and writing points, as functions over bytes. HTTP is left to the caller.
//!
//! - [`json`]: reads a point or an array of points, answers with the points of a metric.
//! - [`line_protocol`]: InfluxDB's line protocol.
//! - [`exposition`]: Prometheus' text format, read and written.
//! - [`remote_write`]: Prometheus' remote write, received and sent.
//!
//! If single points are wrong, the others are written, and [`Ingested`] lists the points that were
//! not and why. No input makes these functions panic, or take more memory than a small multiple of
//! its length. Decompression of a remote write is bounded by [`remote_write::MAX_DECODED_BYTES`].
//!
//! A point in JSON passes `json/scan`, `json/point` and `points` on its way in. A long answer
//! passes `merge` and `json/pieces` on its way out.
//!
//! # Invariants
//! Each names the tests that fail without it, under `tests/it/wire/`.
//! - A body of JSON or of remote write is read to its end before any of it is written, so a
//!   malformed one writes nothing (`json_write.rs`, `remote_write.rs`).
//! - Memory is allocated for the contents of a body, never for a length that the body claims
//!   (`remote_write.rs`, `line_protocol.rs`).
//! - A remembered series is a hint, whether an alias of remote write, a handle or a batch remembers
//!   it. Under its lock, the series reports that it has ended, and the write then looks it up by its
//!   labels (`aliases.rs`; for handles and batches `concurrency.rs` and `engine.rs`, one folder up).

pub mod exposition;
mod ingested;
pub mod json;
pub mod line_protocol;
mod points;
pub mod remote_write;

pub use ingested::{Fault, Ingested, PointError};
