//! Moving a log between stores as NDJSON.
//!
//! [`export`] writes the events of one snapshot as NDJSON, one event per line. [`import`] appends
//! such lines to a store of any backend. Both report their progress, and need memory only for one
//! batch and the longest line.
//!
//! A line contains everything that the log stores of an event. The first event of a command has the
//! command too, with the number of lines that belong to it:
//!
//! ```json
//! {"tracked":{"source":"campus-events","position":17}}
//! {"position":1,"recordedAt":"2026-11-21T03:49:42.123456Z","id":"…","type":"CourseOffered","tags":["course_id:c1"],"metadata":{"correlationId":"r1"},"data":{"capacity":30},"command":{"events":1,"type":"OfferCourse","data":"c1"}}
//! ```
//!
//! If data is JSON without line breaks, `data` holds it byte for byte. Otherwise it is in
//! `dataBase64`. Of an event, an import requires only `type`. It ignores `position`, because the store
//! assigns its own. It takes numbers and booleans in `metadata` as their JSON text. The lines of tracked
//! positions come first.
//!
//! Checkpoints of kept projections are beside the tables of the projections, and stay there.

mod batch;
mod command_record;
mod commands;
mod content;
mod event_record;
mod export;
mod import;
mod line;
mod metadata;

pub use batch::ImportOptions;
pub use export::{Exported, export, write_event};
pub use import::{Imported, import};
pub use metadata::Metadata;
