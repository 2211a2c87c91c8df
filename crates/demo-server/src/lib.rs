// The first definition of a link wins: these lead to pages of the documentation, those of the README to files.
//! [dcb-metrics]: dcb_core#metrics
//! [message-metrics]: message_store#metrics
//! [series-metrics]: tsdb#metrics
//! [store-http]: store_http
//! [dcb-grpc]: dcb_grpc
//! [grpc-limits]: dcb_grpc#limits
//! [operating]: crate::operating
//! [answers]: crate::operating#answers-to-writes
//!
#![doc = include_str!("../README.md")]

mod allocator;
mod announce;
mod app;
mod auth;
mod command;
mod forward;
mod grpc;
pub mod handlers;
mod health;
mod log;
mod log_format;
mod observe;
mod openapi;
#[doc = include_str!("../OPERATING.md")]
pub mod operating {}
mod page;
pub mod program;
mod router;
mod schemas;
mod series_files;
mod server;
mod settings;
mod starting;
mod stores;
mod test_data;

pub use app::{App, OpenError};
pub use command::Command;
pub use log_format::LogFormat;
pub use router::router;
pub use schemas::SchemaCommand;
pub use series_files::SeriesCommand;
pub use server::Server;
pub use settings::{SeriesDurability, Settings};
