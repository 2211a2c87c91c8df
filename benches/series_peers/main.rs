//! The series interface of the demo server beside Prometheus and VictoriaMetrics. All three run as
//! separate processes with the same samples, and answer the same requests over HTTP, in turns. A
//! peer that is not installed is left out.

mod comparison;
mod data;
#[allow(dead_code, reason = "shared with the program of the demo server")]
#[path = "../http/process.rs"]
mod process;
mod queries;
mod servers;
mod writes;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = process::serve_if_asked() {
        return code;
    }
    bench::targets("series_peers", &[("series_peers", &comparison::declare)])
}
