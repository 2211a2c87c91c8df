#![doc = include_str!("../README.md")]

mod announce;
mod app;
mod auth;
mod command;
mod dcb;
mod error;
mod event_stream;
mod forward;
mod guard;
pub mod handlers;
mod health;
mod input;
mod log_format;
mod messages;
mod namespaces;
mod observe;
mod openapi;
mod outbox;
mod page;
mod router;
mod schemas;
mod series;
mod series_files;
mod server;
mod settings;
mod starting;
mod stores;

pub use app::{App, OpenError};
pub use command::Command;
pub use log_format::LogFormat;
pub use router::router;
pub use schemas::SchemaCommand;
pub use series_files::SeriesCommand;
pub use server::Server;
pub use settings::{SeriesDurability, Settings};
