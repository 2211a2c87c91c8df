#![doc = include_str!("../README.md")]

mod announce;
mod app;
mod auth;
mod command;
mod forward;
pub mod handlers;
mod health;
mod log_format;
mod observe;
mod openapi;
mod page;
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
