#![doc = include_str!("../README.md")]

mod access;
mod background;
mod backup;
mod delays;
mod failure;
mod opened_file;
mod settings;

pub use access::{Access, Unreadable, refusal};
pub use background::{commit_in_background, in_background};
pub use backup::{BackupError, backup, sync_folder};
pub use delays::Delays;
pub use failure::{Failure, failure, fault, is_busy, is_taken, leaves_commit_unknown};
pub use opened_file::{FileMoved, OpenedFile};
pub use settings::{configure_log, configure_statements};
