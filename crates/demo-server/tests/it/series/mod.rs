//! The series over HTTP.

mod bounds;
mod files;
mod grafana;
mod json;
mod line_protocol;
mod lists;
mod promql;
mod remote_write;
