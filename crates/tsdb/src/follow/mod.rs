//! Reads the samples of a log while the database writes it, for a sender that may be behind.
//!
//! From the bytes upwards: `files` keeps the segments that the sender still needs; `memory` is a log
//! without files; `window` reads frames; `series` knows the labels of the series; `reader` collects
//! batches of samples; `position` is a place in the log, and `stored` writes it beside the log;
//! `arrivals` tells the age of a place; `tail` joins them.
//!
//! # Invariants
//! Each invariant names the tests that fail without it, in `tests/it/wire/log_forwarder`.
//! - A snapshot removes no segment that the sender has not sent completely (`snapshot_keeps_segments_that_are_not_sent`).
//! - After a restart, the first batch has the same samples as the last batch before it, if that one
//!   was not confirmed. So a receiver that has it already sees a repeated request, and not a mixture
//!   (`restart_repeats_the_last_request_unchanged`).

mod arrivals;
mod files;
mod memory;
mod position;
mod reader;
mod series;
mod stored;
mod tail;
mod window;

pub(crate) use reader::Batch;
pub(crate) use tail::Unsent;
pub use tail::{LogTail, TailStart};
