//! Export and import of messages as lines of JSON:
//! `{id, stream, type, pos, gpos, data, meta, time}`.

mod export;
mod import;
mod line;

pub use export::{ExportOptions, export};
pub use import::{Imported, import};
