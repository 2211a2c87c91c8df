#![doc = include_str!("../README.md")]

mod aggregate;
mod batch;
mod chunk;
mod cursor;
mod data;
mod db;
mod durability;
mod error;
mod index;
mod journal;
mod labels;
mod labels_builder;
mod matcher;
mod merge;
mod metadata;
mod options;
mod pattern;
mod sample;
mod select;
mod series;
mod series_cell;
mod shard;
pub mod storage;
mod sync;
mod wal;

pub mod promql;
pub mod wire;

pub use aggregate::{Aggregate, Group};
pub use batch::{Batch, Refused, WriteReport};
pub use cursor::{Cursor, SampleBlock};
pub use db::{Db, Deleted, Stats};
pub use durability::{Durability, OpenOptions};
pub use error::Error;
pub use labels::{Label, LabelIter, Labels};
pub use labels_builder::LabelsBuilder;
pub use matcher::{MatchOp, Matcher};
pub use metadata::{Metadata, MetricKind};
pub use options::{DbOptions, DuplicatePolicy, Limits, Retention};
pub use sample::{STALE_MARKER, Sample, is_stale};
pub use select::{SelectedSeries, Selection};
pub use series::Series;
pub use wal::{Recovery, TornTail};

/// The label that holds the metric's name.
pub const METRIC_NAME: &str = "__name__";
