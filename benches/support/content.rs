//! The events in a log before a row begins.

use super::raw;
use super::repeat::repeat;
use bench::BoxError;
use course_enrollment::workload::{self, PAST_EVENTS};
use course_enrollment::{Dataset, DatasetCache, load};
use dcb_core::EventStore;
use dcb_core::postgres::{Config, PostgresStore};
use sqlx::Connection as _;

/// The largest append that the default limits allow.
const LOAD_BATCH: usize = 1000;

/// The events of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content {
    /// None.
    Empty,
    /// The workload's 100 past events.
    Past,
    /// A dataset, then the 100 past events.
    Dataset(Dataset),
    /// A dataset repeated up to this many events; see [`repeat`].
    Repeated {
        /// The repeated dataset.
        dataset: Dataset,
        /// Events in the log.
        events: i64,
    },
}

impl Content {
    /// True if copying the log takes longer than measuring a row.
    pub(crate) fn is_too_large_to_copy(self) -> bool {
        matches!(self, Self::Repeated { .. })
    }

    /// The number of events in the log. Row names contain it, so it must be known without loading
    /// the log.
    pub(crate) fn events(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Past => PAST_EVENTS as u64,
            Self::Dataset(dataset) => dataset_events(dataset) + PAST_EVENTS as u64,
            Self::Repeated { events, .. } => events.unsigned_abs(),
        }
    }

    /// Past events at the end of the log.
    pub(crate) fn past_events(self) -> u64 {
        match self {
            Self::Past | Self::Dataset(_) => PAST_EVENTS as u64,
            Self::Empty | Self::Repeated { .. } => 0,
        }
    }
}

/// The number of events that [`Dataset`] documents. The rows with this number in their name check
/// it against the log.
fn dataset_events(dataset: Dataset) -> u64 {
    match dataset {
        Dataset::Tiny => 33,
        Dataset::Small => 30_359,
        Dataset::Medium => 60_859,
        Dataset::Large => 609_861,
    }
}

/// Installs a log in an empty database and fills it through the store.
pub(crate) async fn fill(content: Content, url: &str) -> Result<(), BoxError> {
    let store = PostgresStore::connect(Config::new(url)).await?;
    fill_store(content, &store).await?;
    if let Content::Repeated { events, .. } = content {
        repeat(url, events).await?;
    }
    store.close().await;
    settle(content, url).await
}

/// Fills an empty store with the content, except for repetitions.
pub(crate) async fn fill_store(content: Content, store: &impl EventStore) -> Result<(), BoxError> {
    if let Content::Dataset(dataset) | Content::Repeated { dataset, .. } = content {
        append(store, dataset).await?;
    }
    if content.past_events() > 0 {
        store.append(workload::past_events()).await?;
    }
    Ok(())
}

/// Brings the tables into the state that autovacuum would reach: hint bits set, statistics present,
/// no dirty page left. Skips empty tables, like autovacuum.
async fn settle(content: Content, url: &str) -> Result<(), BoxError> {
    if content == Content::Empty {
        return Ok(());
    }
    let mut connection = raw::connect(url).await?;
    for statement in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        sqlx::query(statement).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(())
}

async fn append(store: &impl EventStore, dataset: Dataset) -> Result<(), BoxError> {
    let content = DatasetCache::of_user()?.get(dataset)?;
    load(&content, store, LOAD_BATCH, |_| ()).await?;
    Ok(())
}
