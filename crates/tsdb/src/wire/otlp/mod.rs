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
//! Delta temporality and exponential histograms are refused. Memory while a body is read can be 60
//! times its size, for a body of nothing but empty messages.

mod attributes;
mod json;
mod message;
mod metric;
mod names;
mod resource;
mod write;

pub use write::{Encoding, Malformed, refused_points, write};
