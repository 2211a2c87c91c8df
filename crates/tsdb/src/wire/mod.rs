//! Formats for reading and writing points, as functions over bytes. HTTP is left to the caller.
//!
//! - [`json`]: reads a point or an array of points, answers with the points of a metric.
//! - [`line_protocol`]: InfluxDB's line protocol.
//! - [`exposition`]: Prometheus' text format, read and written.
//! - [`remote_write`]: Prometheus' remote write, received and sent.
//! - `otlp`: OpenTelemetry's metrics, with the feature `otlp`.
//!
//! If some points are wrong, the others are written, and [`Ingested`] lists the points that were
//! not written and the reasons. No input makes these functions panic, or take more memory than a
//! small multiple of its length; `otlp` says how much it may take. [`remote_write::MAX_DECODED_BYTES`] bounds the decompression of a
//! remote write.
//!
//! A point in JSON passes `json/scan`, `json/point` and `points` on its way in. A long answer
//! passes `merge` and `json/pieces` on its way out.
//!
//! # Invariants
//! Each invariant names the tests that fail without it, under `tests/it/wire/`.
//! - A body of JSON or of remote write is read to its end before any of it is written, so nothing
//!   of a malformed body is written (`json_write.rs`, `remote_write.rs`).
//! - Memory is allocated for the contents of a body, never for a length that the body claims
//!   (`remote_write.rs`, `line_protocol.rs`).
//! - An alias of remote write, a handle or a batch remembers a series only as a hint. If the series
//!   has ended, a write finds this out under the lock of the series, and then looks up the labels
//!   (`aliases.rs`; for handles and batches `concurrency.rs` and `engine.rs`, one folder up).

pub mod exposition;
mod ingested;
pub mod json;
pub mod line_protocol;
#[cfg(feature = "otlp")]
pub mod otlp;
mod points;
pub mod remote_write;

pub use ingested::{Fault, Ingested, PointError};
