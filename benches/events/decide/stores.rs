//! The stores of the callers, and their content before the first call.

use super::calls::{self, Last};
use super::work::{Backend, Work};
use crate::support::content::Content;
use crate::support::log::{Log, Store};
use crate::support::server::Server;
use bench::BoxError;
use bench::load::DatabaseWork;
use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{AnyStore, EventStore, Position, Stats};
use local_postgres::Database;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// The stores of the callers.
pub(super) struct Stores {
    pub(super) opened: Vec<AnyStore>,
    /// The last event of each course, for calls that remember it.
    pub(super) last: Last,
    _databases: Vec<Arc<Database>>,
    _folder: TempDir,
}

impl Stores {
    pub(super) fn work(&self) -> DatabaseWork {
        let stats: Vec<Stats> = self.opened.iter().map(EventStore::stats).collect();
        DatabaseWork {
            reads: stats.iter().map(|stats| stats.reads).sum(),
            commits: stats.iter().map(|stats| stats.commits).sum(),
        }
    }

    pub(super) async fn open(
        backend: Backend,
        servers: &[Arc<Server>; 2],
        work: Work,
    ) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let mut databases = Vec::new();
        if let Backend::Postgres = backend {
            for log in 0..work.logs {
                let server = &servers[log % work.servers];
                databases.push(Log::new(server, Content::Empty).renewed().await?);
            }
        }
        let mut opened = Vec::new();
        for store in 0..work.stores {
            opened.push(match backend {
                Backend::Postgres => {
                    let database = Arc::clone(&databases[store % databases.len()]);
                    let store = Store::configured(database, |config| {
                        config.lane_cache_bytes = work.lane_cache_bytes(config.lane_cache_bytes);
                    });
                    AnyStore::Postgres(store.await?.events)
                }
                Backend::SqliteFile => {
                    let mut config = Config::file(folder.path().join("log.db"));
                    config.lane_cache_bytes = work.lane_cache_bytes(config.lane_cache_bytes);
                    AnyStore::Sqlite(SqliteStore::open(config).await?)
                }
            });
        }
        let last = match work.filled {
            0 => HashMap::new(),
            events => fill(&opened[0], &work.course(0), events).await?,
        };
        if work.stores_state {
            store_state(&opened[0], &work.course(0), work).await?;
        }
        Ok(Self {
            opened,
            last: Mutex::new(last),
            _databases: databases,
            _folder: folder,
        })
    }
}

/// Enrolls this many students. Returns the last event of the course.
async fn fill(
    store: &AnyStore,
    course: &str,
    events: u64,
) -> Result<HashMap<String, Position>, BoxError> {
    /// Events of one append.
    const BATCH: u64 = 1_000;
    let mut last = HashMap::new();
    for _ in 0..events / BATCH {
        let batch = (0..BATCH).map(|_| calls::enrollment(course));
        let appended = store.append(batch.collect::<Result<Vec<_>, _>>()?).await?;
        last.insert(course.to_owned(), appended.last());
    }
    Ok(last)
}

/// Decides once, and waits until the state is stored.
async fn store_state(store: &AnyStore, course: &str, work: Work) -> Result<(), BoxError> {
    calls::decide(store, course, work).await?;
    while store.stats().states_stored == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
