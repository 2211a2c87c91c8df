//! The log: every accepted write, in files, before it is forgotten by a crash.
//!
//! The layout of the files is drawn in `FORMAT.md`. From the bytes upwards: `varint`, `packed`,
//! `decimal` and `run` write numbers and samples; `entry` what happened; `header` and `frames` what
//! checksums guard; `segment` one file; `writer` the files in turn; `log` is what the engine calls;
//! `recover` reads it all back.

mod alarm;
mod decimal;
mod entry;
mod frames;
mod header;
mod log;
mod names;
mod packed;
mod recover;
mod run;
mod segment;
mod varint;
mod writer;

pub(crate) use entry::{Entries, Entry};
pub(crate) use header::{FileHeader, FileKind, FrameHeader};
pub(crate) use log::{Cut, Log};
pub(crate) use names::{UNFINISHED, segment_number, snapshot, snapshot_number};
pub(crate) use recover::recover;
pub use recover::{Recovery, TornTail};
pub(crate) use segment::Segment;
