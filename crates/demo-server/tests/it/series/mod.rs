//! The series over HTTP.

mod admin;
mod bounds;
mod federate;
mod files;
mod grafana;
mod json;
mod line_protocol;
mod lists;
mod otlp;
mod promql;
mod remote_write;
mod remote_write_v2;
mod status;
