#![doc = include_str!("../README.md")]

mod access;
mod background;
mod backup;
mod checkpoints;
mod config;
mod delays;
mod failure;
mod health;
mod log_length;
mod opened_file;
mod pages_hook;
mod pause;
mod readers;
mod settings;
mod write_ahead_log;

pub use access::{Access, read_only_file, require_writable};
pub use background::{AsyncCommits, in_background};
pub use backup::{BackupError, backup, sync_folder};
pub use config::{Durability, FileConfig, Location};
pub use delays::Delays;
pub use failure::{Failure, failure, fault, is_busy, is_taken, leaves_commit_unknown};
pub use health::{reader_health, writer_health};
pub use opened_file::OpenedFile;
pub use readers::Readers;
pub use settings::{configure_log, configure_statements};
pub use write_ahead_log::WriteAheadLog;
