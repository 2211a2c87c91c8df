#![doc = include_str!("../README.md")]

mod fault;
mod health;
mod problem;
mod reason;
mod store_url;
mod text;

pub use fault::Fault;
pub use health::{Health, Listener};
pub use problem::Problem;
pub use reason::{Reason, SharedError, shared};
pub use store_url::StoreUrl;
pub use text::{parse_place, write_place};
