//! For tests of the metrics that a crate records, against the table in its README, and of the lines that
//! it logs.

mod log;
mod recording;

pub use log::Log;
pub use recording::{Recorded, Recording, Row, documented};
