//! The stores that tests of every backend run on.

use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Duration;

use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::sqlite::SqliteStore;
use dcb_core::{Append, Appended, Error, EventStore, Fault};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

use super::postgres::sql::Sql;
use super::{postgres, sqlite};

/// The location of a log, in a form that another process can read.
#[derive(Serialize, Deserialize)]
pub(crate) enum Address {
    Postgres { url: String, schema: String },
    Sqlite { path: PathBuf },
}

/// A store whose log several processes can open.
pub(crate) trait SharedStore: EventStore + Clone + 'static {
    type Log: Send + Sync;
    /// The log's lock, held by the test. No append commits until the test releases the lock.
    type Lock: Send;

    /// Settings for a new, empty log.
    fn fresh_log() -> impl Future<Output = Self::Log> + Send;

    /// Opens a store over the log.
    fn connect(log: &Self::Log) -> impl Future<Output = Self> + Send;

    fn address(log: &Self::Log) -> Address;

    fn clear(&self) -> impl Future<Output = Result<(), Error>> + Send;

    fn set_write_timeout(log: &mut Self::Log, timeout: Duration);

    fn set_lane_cache_bytes(log: &mut Self::Log, bytes: usize);

    fn lock(log: &Self::Log) -> impl Future<Output = Self::Lock> + Send;

    fn unlock(lock: Self::Lock) -> impl Future<Output = ()> + Send;

    /// Creates a trigger that makes the database refuse events of this type.
    fn refuse_events_of_type(log: &Self::Log, name: &str) -> impl Future<Output = ()> + Send;

    /// True if the error comes from that trigger.
    fn is_trigger_error(error: &Error) -> bool;
}

/// Starts an append and returns once it is in the queue or in flight.
pub(crate) async fn begin(
    store: &impl SharedStore,
    append: Append,
) -> JoinHandle<Result<Appended, Error>> {
    let store = store.clone();
    let mut appending = Box::pin(async move { store.submit(append).await });
    let ended = poll_fn(|context| Poll::Ready(appending.as_mut().poll(context).is_ready())).await;
    assert!(!ended, "the append must wait");
    tokio::spawn(appending)
}

impl SharedStore for PostgresStore {
    type Log = Config;
    type Lock = postgres::sql::LogLock;

    async fn fresh_log() -> Config {
        postgres::fresh_log().await
    }

    async fn connect(log: &Config) -> Self {
        postgres::connect(log).await
    }

    fn address(log: &Config) -> Address {
        Address::Postgres {
            url: log.url.clone(),
            schema: log.schema.clone(),
        }
    }

    async fn clear(&self) -> Result<(), Error> {
        Self::clear(self).await
    }

    fn set_write_timeout(log: &mut Config, timeout: Duration) {
        log.write_timeout = timeout;
    }

    fn set_lane_cache_bytes(log: &mut Config, bytes: usize) {
        log.lane_cache_bytes = bytes;
    }

    async fn lock(log: &Config) -> Self::Lock {
        postgres::sql::LogLock::take(log).await
    }

    async fn unlock(lock: Self::Lock) {
        lock.release().await;
    }

    async fn refuse_events_of_type(log: &Config, name: &str) {
        let schema = &log.schema;
        let mut sql = Sql::connect(&log.url).await;
        sql.run(&format!(
            "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ \
             BEGIN RAISE 'refused by a trigger' USING ERRCODE = '22023'; END $$; \
             CREATE TRIGGER refuse BEFORE INSERT ON {schema}.event FOR EACH ROW \
             WHEN (NEW.type = '{name}') EXECUTE FUNCTION {schema}.refuse()"
        ))
        .await;
        sql.close().await;
    }

    fn is_trigger_error(error: &Error) -> bool {
        matches!(error, Error::Fault(fault) if fault.code() == Some("22023"))
    }
}

impl SharedStore for SqliteStore {
    type Log = sqlite::Log;
    type Lock = sqlite::files::LogLock;

    async fn fresh_log() -> sqlite::Log {
        sqlite::fresh_log().await
    }

    async fn connect(log: &sqlite::Log) -> Self {
        sqlite::connect(log).await
    }

    fn address(log: &sqlite::Log) -> Address {
        Address::Sqlite { path: log.path() }
    }

    async fn clear(&self) -> Result<(), Error> {
        Self::clear(self).await
    }

    fn set_write_timeout(log: &mut sqlite::Log, timeout: Duration) {
        log.write_timeout = timeout;
    }

    fn set_lane_cache_bytes(log: &mut sqlite::Log, bytes: usize) {
        log.lane_cache_bytes = bytes;
    }

    async fn lock(log: &sqlite::Log) -> Self::Lock {
        sqlite::files::LogLock::take(log)
    }

    async fn unlock(lock: Self::Lock) {
        lock.release();
    }

    async fn refuse_events_of_type(log: &sqlite::Log, name: &str) {
        let trigger = format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON dcb_event WHEN NEW.type = '{name}' \
             BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END"
        );
        let connection = sqlite::files::foreign(log);
        connection.execute_batch(&trigger).expect("the trigger");
    }

    fn is_trigger_error(error: &Error) -> bool {
        matches!(error, Error::Fault(Fault::Refused(reason)) if reason.message().contains("refused by a trigger"))
    }
}
