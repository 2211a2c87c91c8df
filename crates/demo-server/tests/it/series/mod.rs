//! The series over HTTP.

mod abandoned;
mod admin;
mod bombs;
mod bounds;
mod federate;
mod files;
mod full_disk;
mod grafana;
mod json;
mod line_protocol;
mod lists;
mod new_series;
mod otlp;
mod process;
mod promql;
mod remote_write;
mod remote_write_v2;
mod status;
