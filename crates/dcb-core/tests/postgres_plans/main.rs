//! What appends and reads cost on a log of a million events, in rows and blocks and not in time.
//!
//! The statements' plans are generic ones, without and with statistics of the tables.

mod appends;
mod grown;
mod million;
mod reads;
#[path = "../support/mod.rs"]
mod support;
