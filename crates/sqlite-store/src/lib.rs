#![doc = include_str!("../README.md")]

mod access;
mod background;
mod backup;
mod config;
mod delays;
mod failure;
mod log_length;
mod opened_file;
mod readers;
mod settings;

pub use access::{Access, read_only_file, require_writable};
pub use background::{AsyncCommits, in_background};
pub use backup::{BackupError, backup, sync_folder};
pub use config::{Durability, FileConfig, Location};
pub use delays::Delays;
pub use failure::{Failure, failure, fault, is_busy, is_taken, leaves_commit_unknown};
pub use log_length::LogLength;
pub use opened_file::OpenedFile;
pub use readers::Readers;
pub use settings::{configure_log, configure_statements};
