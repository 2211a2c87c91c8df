//! The benches of the time-series engine. They need no server and no other store.

mod points;
mod tsdb_query;
mod tsdb_write;

use std::process::ExitCode;

fn main() -> ExitCode {
    bench::targets(
        "series",
        &[
            ("tsdb_write", &tsdb_write::declare),
            ("tsdb_query", &tsdb_query::declare),
        ],
    )
}
