//! Moving events between stores as NDJSON.
//!
//! [`export`] writes the events of one snapshot as NDJSON, one event per line. [`import`] appends
//! such lines to a store of any backend. Both report their progress, and need memory only for one
//! batch and the longest line.
//!
//! A line contains everything that the log stores of an event:
//!
//! ```json
//! {"position":1,"recordedAt":"2026-11-21T03:49:42.123456Z","id":"…","type":"CourseOffered","tags":["course_id:c1"],"metadata":{"correlationId":"r1"},"data":{"capacity":30}}
//! ```
//!
//! If the data is JSON without line breaks, `data` holds it byte for byte. Otherwise it is in
//! `dataBase64`. An import requires only `type`, and ignores `position` and `recordedAt`, because the
//! store assigns its own.

mod event_record;
mod export;
mod import;

pub use export::{Exported, export};
pub use import::{ImportOptions, Imported, import};
