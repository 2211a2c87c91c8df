//! The series over HTTP.

#[path = "../support/mod.rs"]
mod support;

mod bounds;
mod grafana;
mod json;
mod line_protocol;
mod lists;
mod promql;
mod remote_write;
