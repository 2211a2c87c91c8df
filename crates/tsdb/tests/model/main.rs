//! Model tests: the engine's own source, compiled against shuttle's locks and run under many
//! interleavings of writers, readers and deleters.
//!
//! Each model sees 200 interleavings, times the factor in `REGISTRAR_EFFORT`.
//!
//! They are a separate executable, because the engine's source refers to its modules by paths from
//! the crate root.

#![allow(
    dead_code,
    unused_imports,
    reason = "the models do not use every part of the crate they compile"
)]
#![allow(
    unreachable_pub,
    missing_docs,
    reason = "the crate's public items have no public root here"
)]

mod models;
mod sync;

#[path = "../../src/aggregate/mod.rs"]
mod aggregate;
#[path = "../../src/batch.rs"]
mod batch;
#[path = "../../src/chunk/mod.rs"]
mod chunk;
#[path = "../../src/cursor.rs"]
mod cursor;
#[path = "../../src/data/mod.rs"]
mod data;
#[path = "../../src/db/mod.rs"]
mod db;
#[path = "../../src/durability.rs"]
mod durability;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/heap.rs"]
mod heap;
#[path = "../../src/index/mod.rs"]
mod index;
#[path = "../../src/journal.rs"]
mod journal;
#[path = "../../src/key.rs"]
mod key;
#[path = "../../src/metadata.rs"]
mod metadata;
#[path = "../../src/meters.rs"]
mod meters;
#[path = "../../src/options.rs"]
mod options;
#[path = "../../src/select.rs"]
mod select;
#[path = "../../src/series.rs"]
mod series;
#[path = "../../src/series_cell.rs"]
mod series_cell;
#[path = "../../src/shard.rs"]
mod shard;
#[path = "../../src/storage/mod.rs"]
mod storage;
#[path = "../../src/wal/mod.rs"]
mod wal;

pub(crate) use aggregate::{Aggregate, Group};
pub(crate) use batch::{Batch, Refused, WriteReport};
pub(crate) use cursor::{Cursor, SampleBlock};
pub(crate) use db::{Db, Deleted, FileReport, Gap, Stats};
pub(crate) use durability::{Durability, OpenOptions};
pub(crate) use error::Error;
pub(crate) use metadata::{Metadata, MetricKind};
pub(crate) use options::{DbOptions, DuplicatePolicy, Limits, NewSeriesLimit, Retention};
pub(crate) use select::{SelectedSeries, Selection};
pub(crate) use series::Series;
pub(crate) use series_model::{
    Label, LabelError, Labels, LabelsBuilder, LabelsRef, METRIC_NAME, MatchOp, Matcher,
    STALE_MARKER, Sample, is_stale,
};
pub(crate) use wal::{Damage, Recovery, TornTail};
