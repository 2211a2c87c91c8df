#![doc = include_str!("../README.md")]

mod error;
mod event_stream;
mod guard;
mod outbox;
mod service;

pub mod dcb;
pub mod input;
pub mod messages;
pub mod openapi;
pub mod series;

pub use error::{ApiError, render};
pub use service::{Limits, Load, Service, Watch};
