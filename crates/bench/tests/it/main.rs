//! The tests of the harness: rows, loads, saved runs, pages and comparisons. The tests that count
//! allocations are in `tests/allocations`.

mod common;
mod compare;
mod golden;
mod load;
mod measuring;
mod memory_group;
mod pages;
mod peers;
mod series_peers;
mod settings;
mod web_app;
