//! OpenTelemetry's metrics (OTLP), as protocol buffers or JSON, translated to series as Prometheus
//! translates them by default.
//!
//! - `http.server.duration` in `ms` becomes `http_server_duration_milliseconds`; a monotonic sum
//!   ends in `_total`, a gauge of the unit `1` in `_ratio`.
//! - The resource's `service.namespace` and `service.name` become `job`, and `service.instance.id`
//!   becomes `instance`. Its other attributes are labels of `target_info`.
//! - A histogram becomes `_bucket`, `_sum` and `_count`, a summary its quantiles, `_sum` and
//!   `_count`.
//! - Exemplars are kept with their trace and span. A point without a recorded value becomes a stale
//!   marker.
//!
//! - An exponential histogram becomes a classic one, with bounds that are powers of two from 2^-64 to
//!   2^64, those with values only.
//!
//! - Points with delta temporality are added up: the newest sample of a series plus the point is its next
//!   sample. A point that is not newer than its series was counted before or comes too late, and is
//!   refused. Exponential histograms with delta temporality are refused.
//!
//! A body is read one data point at a time. A large one is read twice: first it is checked, then its
//! points are written in parts. So a body of nothing but empty messages takes no more memory than
//! another one. A data point, or the attributes of a resource, may have 256 KiB.

mod attributes;
mod delta;
mod exponential;
mod json;
mod message;
mod metric;
mod names;
mod parts;
mod request;
mod resource;
mod write;

pub use write::{Encoding, Malformed, refused_points, write};
