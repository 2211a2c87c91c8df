#![doc = include_str!("README.md")]

mod absence;
mod error;
mod eval;
mod functions;
mod json;
mod labels;
mod number;
mod options;
mod plan;
mod query;
mod selector;
mod steps;
mod time;
mod value;

pub use error::QueryError;
pub use json::to_json;
pub use options::QueryOptions;
pub use query::{Query, TimeRange};
pub use selector::parse_selector;
pub use time::{parse_duration, parse_time};
pub use value::{InstantSeries, RangeSeries, Value};
