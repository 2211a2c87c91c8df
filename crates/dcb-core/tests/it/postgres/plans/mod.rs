//! The cost of appends and reads on a large log, in rows and blocks instead of time.
//!
//! The tests measure generic plans, with and without statistics of the tables.

mod appends;
mod grown;
mod large_log;
mod reads;
