//! Turns saved runs into pages. Everything is pure except the last step, which writes the files.
//!
//! A page comes from one complete run. A filtered, interrupted or smoke run writes none. All files
//! of a page are first written under temporary names and then renamed. The tests in
//! `tests/it/pages.rs` check this.

mod chart;
mod charts;
mod column;
mod floors;
mod goals;
mod header;
mod insight;
mod load;
pub(crate) mod number;
mod page;
mod publish;
mod published;
mod raw;
mod scaling;
mod table;
mod template;
mod view;

pub use chart::{Bar, Chart};
pub(crate) use charts::bars;
pub use floors::floors_table;
pub(crate) use header::machine_lines;
pub(crate) use insight::{calls_range, concurrency_gain, memory_range};
pub use load::LIBRARY;
pub use page::{Page, Part, Rendered, Section, render};
pub use publish::{publish, publish_complete, publish_each};
pub use published::{Printed, Published, PublishedRow, PublishedTable, Unit};
pub use scaling::scaling_table;
pub use table::Table;
pub use view::View;
