//! Moving events between stores: as lines of JSON, or from another store's tables.
//!
//! [`export`] writes the events of one snapshot as NDJSON, one event a line; [`import`] appends
//! such lines to a store of any backend. Both work in constant memory, that of a batch or of the
//! longest line, and tell how far they are.
//!
//! A line holds all that the log knows of an event:
//!
//! ```json
//! {"position":1,"recordedAt":"2026-11-21T03:49:42.123456Z","id":"…","type":"CourseOffered","tags":["course_id:c1"],"metadata":{"correlationId":"r1"},"data":{"capacity":30}}
//! ```
//!
//! `data` is the data itself, byte for byte, where it is JSON on one line; other data is in
//! `dataBase64`. An import needs `type`; `position` and `recordedAt` are the store's to give.

mod export;
mod import;
mod line;
mod missing;

pub use export::{Exported, export};
pub use import::{ImportOptions, Imported, import};
pub use missing::append_missing;
