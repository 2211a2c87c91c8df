//! What a log holds before a row begins.

use super::{million, raw};
use bench::BoxError;
use course_enrollment::workload::{self, PAST_EVENTS};
use course_enrollment::{Dataset, DatasetCache, load};
use dcb_core::EventStore;
use dcb_core::postgres::{Config, PostgresStore};
use sqlx::Connection as _;

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
    /// A dataset repeated up to this many events; see [`million`].
    Repeated {
        /// What is repeated.
        dataset: Dataset,
        /// Events in the log.
        events: i64,
    },
}

impl Content {
    /// True where a copy takes longer than a row.
    pub(crate) fn is_too_large_to_copy(self) -> bool {
        matches!(self, Self::Repeated { .. })
    }

    /// Past events at the end of the log.
    pub(crate) fn past_events(self) -> u64 {
        match self {
            Self::Past | Self::Dataset(_) => PAST_EVENTS as u64,
            Self::Empty | Self::Repeated { .. } => 0,
        }
    }
}

/// Installs a log in an empty database and fills it through the store.
pub(crate) async fn fill(content: Content, url: &str) -> Result<(), BoxError> {
    let store = PostgresStore::connect(Config::new(url)).await?;
    fill_store(content, &store).await?;
    if let Content::Repeated { events, .. } = content {
        million::repeat(url, events).await?;
    }
    store.close().await;
    settle(content, url).await
}

/// Appends what is not repeated to an empty store.
pub(crate) async fn fill_store(content: Content, store: &impl EventStore) -> Result<(), BoxError> {
    if let Content::Dataset(dataset) | Content::Repeated { dataset, .. } = content {
        append(store, dataset).await?;
    }
    if content.past_events() > 0 {
        store.append(workload::past_events()).await?;
    }
    Ok(())
}

/// Leaves the tables as autovacuum would in time: hint bits set, statistics there, nothing left to
/// write. It would not look at empty ones.
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
