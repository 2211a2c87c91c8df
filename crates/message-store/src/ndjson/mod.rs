//! Moving messages between stores as lines of JSON.
//!
//! [`export`] writes one message per line, and then the checkpoints of the consumers. [`import`] stores
//! such lines in a store of any backend. Both report their progress, and need memory only for one batch
//! and the longest line.
//!
//! ```json
//! {"id":"018f3c5e-…","stream":"account-123","type":"Opened","pos":0,"gpos":1,"data":{"owner":"Ada"},"meta":{"userId":"7"},"time":"2026-11-21T03:49:42.123456Z"}
//! {"checkpoint":{"consumer":"invoices","handled":"1@018f3c5e-…"}}
//! ```
//!
//! A message without metadata has no `meta`. Checkpoints come last, so that a consumer has one only in a
//! store that has the messages before it.

mod checkpoint;
mod export;
mod import;
mod line;

pub use export::{ExportOptions, export};
pub use import::{Imported, import};
pub use line::write_message;
