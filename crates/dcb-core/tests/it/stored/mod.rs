//! States of decisions in the database: a process that starts reads only what is new, and a state that is
//! not of this log, or not of this fold, is never used.

mod deleted;
mod discarded;
mod pending;
mod restarted;
mod upcast;
mod upgraded;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use dcb_core::postgres::PostgresStore;
use dcb_core::sqlite::SqliteStore;
use dcb_core::{DecisionModel, Error, Event, EventStore, Projector, StateOptions};

use crate::support::backend::SharedStore;
use crate::support::events::{tag, tagged};
use crate::support::postgres::sql::Sql;
use crate::support::sqlite::files::foreign;
use crate::support::wait::wait_until;

/// A store whose tables a test changes. In its SQL, `@` stands before the name of a table.
trait Tables: SharedStore {
    /// Makes a log one of the version before there were states in the database.
    const DOWNGRADE: &'static str;

    async fn run(log: &Self::Log, sql: &str);

    /// The first column of the first row, which is a text.
    async fn number(log: &Self::Log, sql: &str) -> i64;

    async fn rebuild_keys(log: &Self::Log);

    /// Stores over the log keep nothing in memory.
    fn without_cache(log: &mut Self::Log);
}

impl Tables for PostgresStore {
    const DOWNGRADE: &'static str = "DROP TABLE @kept_state, @projection, @projection_slice, \
        @projection_member, @projection_event; DELETE FROM @migration WHERE version >= 5";

    async fn run(log: &Self::Log, sql: &str) {
        let mut session = Sql::connect(&log.url).await;
        session.run(&qualified(log, sql)).await;
        session.close().await;
    }

    async fn number(log: &Self::Log, sql: &str) -> i64 {
        let mut session = Sql::connect(&log.url).await;
        let number = session.number(&qualified(log, sql)).await;
        session.close().await;
        number
    }

    async fn rebuild_keys(log: &Self::Log) {
        dcb_core::postgres::rebuild_keys(log).await.unwrap();
    }

    fn without_cache(log: &mut Self::Log) {
        log.lane_cache_bytes = 0;
    }
}

fn qualified(log: &dcb_core::postgres::Config, sql: &str) -> String {
    sql.replace('@', &format!("{}.", log.schema))
}

impl Tables for SqliteStore {
    const DOWNGRADE: &'static str =
        "DROP TABLE @kept_state; DELETE FROM @migration WHERE version >= 2";

    async fn run(log: &Self::Log, sql: &str) {
        let sql = sql.replace('@', "dcb_");
        foreign(log).execute_batch(&sql).expect(&sql);
    }

    async fn number(log: &Self::Log, sql: &str) -> i64 {
        let sql = sql.replace('@', "dcb_");
        let number = foreign(log).query_row(&sql, [], |row| row.get::<_, String>(0));
        number.expect(&sql).parse().expect("a number")
    }

    async fn rebuild_keys(log: &Self::Log) {
        dcb_core::sqlite::rebuild_keys(log).unwrap();
    }

    fn without_cache(log: &mut Self::Log) {
        log.lane_cache_bytes = 0;
    }
}

/// Each event's position and time.
type Places = Vec<(u64, SystemTime)>;

const EVERY_TENTH: fn() -> StateOptions = || StateOptions::new().every(10);

/// Counts how many events were folded, in decisions and in tasks that store states.
#[derive(Clone, Default)]
struct Folds(Arc<AtomicUsize>);

impl Folds {
    /// The places of the events with the tag `a`.
    fn places(&self) -> Projector<Places> {
        let folds = Arc::clone(&self.0);
        Projector::new(tag("a"), Places::new(), move |places, event| {
            folds.fetch_add(1, Ordering::Relaxed);
            places.push((event.position().get(), event.recorded_at()));
        })
    }

    fn stored(&self) -> Projector<Places> {
        self.places().keep_stored("places", 1, EVERY_TENTH())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Decides on the state, and appends the events. Returns the state.
async fn decide<S, T>(store: &S, on: Projector<T>, events: Vec<Event>) -> T
where
    S: EventStore + Clone + 'static,
    T: Clone + Send + Sync,
{
    let mut seen = None;
    let decide = |state| {
        seen = Some(state);
        Ok::<_, Error>(events.clone())
    };
    let decided = DecisionModel::new(on).decide(store, decide).await;
    decided.unwrap();
    seen.unwrap()
}

/// Looks at the places without an event of its own.
async fn see<S: EventStore + Clone + 'static>(store: &S) -> Places {
    decide(store, Folds::default().stored(), Vec::new()).await
}

/// The places as a read returns them.
async fn read(store: &impl EventStore) -> Places {
    let projected = store.project(&Folds::default().places()).await;
    projected.unwrap().state
}

async fn fill(store: &impl EventStore, events: usize) {
    store.append(vec![tagged("a"); events]).await.unwrap();
}

/// Waits until this process has stored states.
async fn wait_until_stored(store: &impl EventStore, states: u64) {
    wait_until("the state is stored", async || {
        store.stats().states_stored >= states
    })
    .await;
}

/// Opens the log, appends events with the tag `a`, and stores their state.
async fn store_state<S: SharedStore>(log: &S::Log, events: usize) {
    let store = S::connect(log).await;
    fill(&store, events).await;
    see(&store).await;
    wait_until_stored(&store, 1).await;
    store.close().await;
}
