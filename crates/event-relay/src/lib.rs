#![doc = include_str!("../README.md")]

mod checkpoint;
mod commit;
mod relay;

pub use relay::Relay;
