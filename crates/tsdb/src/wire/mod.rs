//! The formats in which points come in and go out, as functions over bytes: HTTP is left to the
//! program around them.
//!
//! - [`json`]: one point or an array of them in, a metric's points out.
//! - [`line_protocol`]: InfluxDB's line protocol.
//! - [`exposition`]: Prometheus' text format, in and out.
//! - [`remote_write`]: Prometheus' remote write, in and out.
//!
//! A body that can't be read as a whole is refused as a whole. Where single points are wrong, the
//! others are written, and [`Ingested`] says which were not, and why. No input makes these
//! functions panic, or take more memory than a small multiple of its length; for compressed input
//! the caller sets the bound.

pub mod exposition;
mod ingested;
pub mod json;
pub mod line_protocol;
mod points;
pub mod remote_write;

pub use ingested::{Fault, Ingested, PointError};
