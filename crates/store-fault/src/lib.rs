#![doc = include_str!("../README.md")]

mod fault;
mod health;
mod on_failure;
mod problem;
mod reason;
mod store_url;
mod text;

pub use fault::Fault;
pub use health::{Health, Listener};
pub use on_failure::OnFailure;
pub use problem::Problem;
pub use reason::{Reason, SharedError, shared};
pub use store_url::StoreUrl;
pub use text::{parse_place, write_place};
