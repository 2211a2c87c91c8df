//! Turns saved runs into pages. Everything is pure except the last step, which writes the files.
//!
//! A page comes from one complete run. A filtered, interrupted or smoke run writes none. All files
//! of a page are first written under temporary names and then renamed. The tests in
//! `tests/it/pages.rs` check this.

mod chart;
mod column;
mod detail;
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
mod view;

pub use chart::{Bar, Chart};
pub use column::Column;
pub use detail::Detail;
pub use floors::floors_table;
pub use goals::goals_table;
pub use insight::{calls_range, concurrency_gain, memory_range};
pub use load::{LIBRARY, LoadTable};
pub use page::{Page, Rendered, Section, render};
pub use publish::{publish, publish_complete, publish_each};
pub use published::{
    MemoryMeaning, Published, PublishedKey, PublishedRow, PublishedTable, PublishedText,
    RateMeaning, Units,
};
pub use raw::raw_block;
pub use scaling::scaling_table;
pub use table::{Table, TableSpec};
pub use view::View;
