//! The tests of the harness: rows, loads, saved runs, pages and comparisons. The tests that count
//! allocations are in `tests/allocations`.

mod common;
mod compare;
mod golden;
mod load;
mod measuring;
mod pages;
mod settings;
/// The requests of the published load scripts, with the tests beside them.
#[allow(dead_code, reason = "the http benchmarks use the rest of it")]
#[path = "../../benches/http/web_app/mod.rs"]
mod web_app;
