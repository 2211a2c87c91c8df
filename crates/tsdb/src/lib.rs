// The first definition of a link wins: this one leads to a page of the documentation.
//! [errors]: crate::Error
//!
#![doc = include_str!("../README.md")]
//!
//! # Inside the crate
//!
//! For contributors. Modules without a link are private.
//!
//! - **Write**: `db/write` → `series_cell` → `data` → `chunk/block` → `chunk/frame`. `shard` finds
//!   a series by its labels, or begins it. Start reading at `db/write`.
//! - **Read**: `index/select` → `data/snapshot` → `cursor`, then `aggregate`. `merge` reads several
//!   series in order of time.
//! - **Log**: the engine calls `wal/log` under a series' lock. The path to the disk is `wal/entry`
//!   → `wal/writer` → `wal/segment` → [`storage`]. The path back is `wal/recover` → `db/restore`.
//!   `db/snapshot` replaces old segments with one file.
//! - **Codecs**: `chunk` compresses blocks in memory, `wal/run` compresses samples in files. Both
//!   are pure functions over bytes.
//! - **Forwarding**: `follow` reads the log while it is written, for a sender that may be behind.
//! - **Formats and queries**: [`wire`] uses the engine from outside. `promql_storage` puts [`promql`], a
//!   crate of its own, over it.
//! - **Vocabulary**: the crate `series-model`, whose types are here under the same names.
//!
//! A module that keeps an invariant states it, and names the test in `tests/` that fails without
//! it.

mod aggregate;
mod batch;
mod chunk;
mod cursor;
mod data;
mod db;
mod durability;
mod error;
mod exemplars;
#[cfg(feature = "wire")]
mod follow;
mod heap;
mod index;
mod journal;
mod key;
#[cfg(feature = "wire")]
mod merge;
mod metadata;
mod meters;
mod options;
#[cfg(feature = "promql")]
mod promql_storage;
mod registry;
mod select;
mod series;
mod series_cell;
mod shard;
pub mod storage;
mod sync;
mod wal;

#[cfg(feature = "wire")]
pub mod wire;

pub use aggregate::{Aggregate, Group};
pub use batch::{Batch, Refused, WriteReport};
pub use cursor::{Cursor, SampleBlock};
pub use db::{Cardinality, Db, Deleted, Extent, FileReport, Gap, Stats};
pub use durability::{Durability, OpenOptions};
pub use error::Error;
pub use exemplars::Exemplars;
#[cfg(feature = "wire")]
pub use follow::{LogTail, TailStart};
pub use metadata::{Metadata, MetricKind};
pub use options::{DbOptions, DuplicatePolicy, Limits, NewSeriesLimit, Retention};
#[cfg(feature = "promql")]
pub use promql_engine as promql;
pub use registry::{Counter, Histogram, Registry};
pub use select::{SelectedSeries, Selection};
pub use series::Series;
pub use series_model::{
    Exemplar, Label, LabelError, LabelIter, Labels, LabelsBuilder, METRIC_NAME, MatchOp, Matcher,
    STALE_MARKER, Sample, is_stale,
};
pub use wal::{Damage, Recovery, TornTail};

use series_model::LabelsRef;
#[cfg(feature = "wire")]
use series_model::push_json_string;
