// The first definition of a link wins: this one leads to a page of the documentation, that of the README to a file.
//! [proto]: crate::proto
//!
#![doc = include_str!("../README.md")]

mod append;
mod credits;
mod error;
mod extras;
mod gate;
mod health;
mod key;
mod limits;
mod meters;
pub mod proto;
mod read;
mod server;
mod service;
mod subscribe;
mod wire;

pub use error::ServeError;
pub use limits::Limits;
pub use server::Server;
