//! The write-ahead log. `FORMAT.md` draws the layout of its files.
//!
//! From the bytes upwards: `varint`, `packed`, `decimal` and `run` encode numbers and samples;
//! `entry` encodes changes; `header` and `frames` add checksums; `segment` writes one file;
//! `writer` writes one file after the other; `log` is the interface to the engine; `recover` reads
//! the files at open, and passes their entries to a `replay`;
//! `salvage` does so with damaged files.

mod alarm;
mod decimal;
mod degraded;
mod entry;
mod frames;
mod header;
mod log;
mod names;
mod packed;
mod recover;
mod replay;
mod run;
mod salvage;
mod segment;
mod varint;
mod writer;

#[cfg(feature = "wire")]
pub(crate) use entry::EntryReader;
pub(crate) use entry::{Entries, Entry};
pub(crate) use header::{FileHeader, FileKind, FrameHeader};
pub(crate) use log::{Cut, Log};
#[cfg(feature = "wire")]
pub(crate) use names::segment;
pub(crate) use names::{UNFINISHED, segment_number, snapshot, snapshot_number};
pub(crate) use recover::recover;
pub use recover::{Recovery, TornTail};
pub(crate) use replay::Replay;
pub use salvage::Damage;
pub(crate) use salvage::{Salvage, salvage};
pub(crate) use segment::Segment;
