#![doc = include_str!("../README.md")]

mod error;
mod event_stream;
mod guard;
mod limits;
mod outbox;
mod page_file;
mod service;

pub mod dcb;
pub mod explorer;
pub mod input;
pub mod messages;
pub mod openapi;
pub mod series;

pub use error::{ApiError, render};
pub use guard::HEALTH_PATHS;
pub use limits::Limits;
pub use page_file::page_file;
pub use service::{Load, Service, Watch};
