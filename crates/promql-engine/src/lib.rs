#![doc = include_str!("../README.md")]
//!
//! # Invariants
//! `plan/` turns a text into a checked plan, `eval/` has one file for each kind of expression, and
//! `functions/` works on numbers only. Each invariant names the tests that fail without it, under
//! `crates/tsdb/tests/it/promql/`.
//! - A plan has only cases that evaluation can handle. An unsupported or mistyped expression is an
//!   error in `plan/` (`functions.rs`, `errors.rs`).
//! - A query reads each selected series once, and charges its budget before it allocates memory for
//!   samples (`errors.rs`).
//! - Every loop over samples or series asks the budget now and then, so that a query ends soon after
//!   its time limit, or after its caller stopped it (`stopped.rs`).
//! - A series keeps the name that a function drops until `settled` makes the answer (`names.rs`).
//!
//! `crates/tsdb/tests/it/promqltest.rs` compares answers with those of Prometheus.

mod absence;
mod error;
mod eval;
mod exemplars;
mod format;
mod functions;
mod json;
mod labels;
mod natural;
mod number;
mod options;
mod plan;
mod proceed;
mod query;
mod selector;
mod stats;
mod steps;
mod storage;
mod time;
mod value;

pub use error::QueryError;
pub use exemplars::{exemplars_to_json, parse_selectors};
pub use format::format_query;
pub use json::to_json;
pub use options::QueryOptions;
pub use proceed::Proceed;
pub use query::{Query, TimeRange};
pub use selector::parse_selector;
pub use series_model::{
    Exemplar, LabelError, Labels, METRIC_NAME, MatchOp, Matcher, STALE_MARKER, Sample, is_stale,
};
pub use stats::QueryStats;
pub use storage::{Selected, Storage, StorageError, Visit};
pub use time::{parse_duration, parse_time};
pub use value::{InstantSeries, RangeSeries, Value};
