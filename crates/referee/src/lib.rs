//! [peer-protocol]: ::peer_protocol
//!
#![doc = include_str!("../README.md")]

mod appends;
mod check;
mod finding;
mod followers;
mod index;
mod reads;

pub use check::check;
pub use finding::Finding;
