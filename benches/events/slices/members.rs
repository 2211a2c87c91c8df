//! Members of a sliced projection that die, while events are appended.
//!
//! Each member has a runtime. It dies when the runtime is dropped: its connections end, and it gives
//! nothing back. The handler fails at an event that does not follow the last one of its key, and a call
//! ends when each event has been counted once. So a call that succeeds has lost, repeated and reordered
//! nothing.

use crate::support::content::Content;
use crate::support::log::{Log, Store};
use crate::support::raw;
use crate::support::server::Servers;
use bench::{BoxError, Facts, Goal, Op, Outcome, Profile, Row, Target};
use dcb_core::postgres::{Config, Handler, PostgresStore, SlicedReadModel};
use dcb_core::{
    Event, EventStore as _, HandlerError, Query, SequencedEvent, SliceKey, SliceOptions,
    SlicedRunner,
};
use local_postgres::Database;
use sqlx::PgConnection;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

const SLICES: u32 = 256;
/// The members of the row with many.
const CROWD: usize = 8;
/// The events of a call.
const EVENTS: u64 = 5_000;
const BATCH: usize = 100;
/// Longer than any step takes.
const LIMIT: Duration = Duration::from_secs(60);
const TAKEN_OVER: Duration = Duration::from_secs(2);

const TABLE: &str = "\
    CREATE TABLE IF NOT EXISTS by_key (key text PRIMARY KEY, first bigint, last bigint, events bigint)";
const ADD: &str = "\
    INSERT INTO by_key SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[]) \
    ON CONFLICT (key) DO UPDATE SET last = excluded.last, events = by_key.events + excluded.events \
     WHERE by_key.last < excluded.first";
const SUM: &str = "SELECT coalesce(sum(events), 0)::bigint FROM by_key";
/// The members that hold slices, once all slices are held.
const HOLDERS: &str = "\
    SELECT CASE WHEN bool_and(member IS NOT NULL) THEN count(DISTINCT member) ELSE 0 END \
      FROM dcb.projection_slice";
const TRANSACTIONS: &str =
    "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";

pub(super) fn rows(target: &mut Target, servers: &Servers) {
    let keys = match target.profile().is_smoke() {
        true => 100,
        false => 100_000,
    };
    let server = servers.local(target);
    let row = |name: &str, what: String| {
        Row::new(name, "Keys")
            .variant(format!("keys {keys}, slices {SLICES}"))
            .long_ops()
            .on_the_dataset()
            .events(EVENTS)
            .one_op(what)
            .fills("subscriptions_members")
    };
    let idle = idle_time(target.profile());
    let (log, facts) = (Log::new(&server, Content::Empty), target.facts());
    let set_up = Op::given(&(log, facts), move |(log, facts)| async move {
        let crowd = Crowd::of(log.database().await?, keys, 1).await?;
        crowd.note_idle_cost(&facts, idle).await?;
        Ok(crowd)
    });
    let take_over = set_up
        .before(|crowd, _| async move {
            crowd.add_one().await?;
            crowd.kill_last().await;
            Ok(())
        })
        .call(|crowd, _call| async move {
            crowd.append().await?;
            crowd.wait_for_all().await?;
            Ok(Outcome::Success)
        });
    let what = format!(
        "{EVENTS} appends in batches of {BATCH}, right after one of 2 members has died, until the other has handled them"
    );
    let row_of_one = row("Take over from a dead member", what).goal(Goal::p99(TAKEN_OVER));
    target.row(row_of_one, &take_over);

    let log = Log::new(&server, Content::Empty);
    let set_up = Op::given(&log, move |log| async move {
        Crowd::of(log.database().await?, keys, CROWD).await
    });
    let churn = set_up.call(|crowd, _call| async move {
        crowd.append().await?;
        crowd.kill_first().await;
        crowd.add_one().await?;
        crowd.append().await?;
        crowd.wait_for_all().await?;
        Ok(Outcome::Success)
    });
    let what = format!(
        "{} appends in batches of {BATCH}; amid them one of {CROWD} members dies and another one is added; until all events are handled, in order by key",
        2 * EVENTS
    );
    target.row(
        row("Replace a member under load", what).events(2 * EVENTS),
        &churn,
    );
}

/// The time over which the transactions of an idle member are counted.
fn idle_time(profile: &Profile) -> Duration {
    match profile.is_smoke() {
        true => Duration::from_millis(100),
        false => Duration::from_secs(4),
    }
}

#[derive(Clone)]
struct InOrder;

impl Handler for InOrder {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        /// First position, last position, events.
        type OfKey = (i64, i64, i64);
        let mut keys: BTreeMap<&str, OfKey> = BTreeMap::new();
        for event in events {
            let key = event.tag_value("key").ok_or("an event without a key")?;
            let position = event.position().get().cast_signed();
            let (_, last, events) = keys.entry(key).or_insert((position, 0, 0));
            if position <= *last {
                return Err("an event came out of order".into());
            }
            (*last, *events) = (position, *events + 1);
        }
        let added = sqlx::query(ADD)
            .bind(keys.keys().map(|key| (*key).to_owned()).collect::<Vec<_>>())
            .bind(keys.values().map(|of| of.0).collect::<Vec<_>>())
            .bind(keys.values().map(|of| of.1).collect::<Vec<_>>())
            .bind(keys.values().map(|of| of.2).collect::<Vec<_>>());
        match added.execute(transaction).await?.rows_affected() == keys.len() as u64 {
            true => Ok(()),
            false => Err("an event came out of order or again".into()),
        }
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        sqlx::query("TRUNCATE by_key").execute(transaction).await?;
        Ok(())
    }
}

/// A member that works until it is dropped.
struct Member(Option<Runtime>);

impl Member {
    fn start(database: &Database) -> Result<Self, BoxError> {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        let config = Config::new(database.url());
        runtime.spawn(async move {
            let store = PostgresStore::connect(config.clone()).await?;
            let model = SlicedReadModel::new(&config, "by key", 1, InOrder)?;
            let key = SliceKey::tag("key");
            let runner = SlicedRunner::new(store, Query::all(), key, model);
            // An error ends the member. The call that waits for it reaches its limit.
            let options = SliceOptions::new().slices(SLICES);
            runner.options(options).run().await
        });
        Ok(Self(Some(runtime)))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The members of a projection, and the store that appends its events.
struct Crowd {
    members: Mutex<VecDeque<Member>>,
    connection: Mutex<PgConnection>,
    appended: Mutex<u64>,
    keys: u64,
    store: Store,
    database: Arc<Database>,
}

impl Crowd {
    async fn of(database: Arc<Database>, keys: u64, members: usize) -> Result<Self, BoxError> {
        let mut connection = raw::connect(database.url()).await?;
        sqlx::query(TABLE).execute(&mut connection).await?;
        let crowd = Self {
            members: Mutex::default(),
            connection: Mutex::new(connection),
            appended: Mutex::new(0),
            keys,
            store: Store::connect(Arc::clone(&database)).await?,
            database,
        };
        for _ in 0..members {
            crowd.add_one().await?;
        }
        Ok(crowd)
    }

    /// Starts a member, and waits until it holds its share of the slices.
    async fn add_one(&self) -> Result<(), BoxError> {
        let mut members = self.members.lock().await;
        members.push_back(Member::start(&self.database)?);
        self.wait_for(HOLDERS, members.len() as i64).await
    }

    async fn kill_first(&self) {
        self.members.lock().await.pop_front();
    }

    async fn kill_last(&self) {
        self.members.lock().await.pop_back();
    }

    async fn append(&self) -> Result<(), BoxError> {
        let mut appended = self.appended.lock().await;
        for _ in 0..EVENTS as usize / BATCH {
            let event = |number| Event::builder("Happened").tag_pair("key", number % self.keys);
            let numbers = *appended..*appended + BATCH as u64;
            let events = numbers.map(|number| event(number).build());
            let events = events.collect::<Result<Vec<_>, _>>()?;
            self.store.events.append(events).await?;
            *appended += BATCH as u64;
        }
        Ok(())
    }

    async fn wait_for_all(&self) -> Result<(), BoxError> {
        let appended = self.appended.lock().await.cast_signed();
        self.wait_for(SUM, appended).await
    }

    /// Waits until a statement returns this number.
    async fn wait_for(&self, sql: &'static str, wanted: i64) -> Result<(), BoxError> {
        const LOOK: Duration = Duration::from_millis(10);
        let waiting = async {
            while self.number(sql).await? != wanted {
                sleep(LOOK).await;
            }
            Ok(())
        };
        timeout(LIMIT, waiting).await?
    }

    async fn number(&self, sql: &'static str) -> Result<i64, BoxError> {
        let mut connection = self.connection.lock().await;
        Ok(sqlx::query_scalar(sql).fetch_one(&mut *connection).await?)
    }

    /// Counts the transactions of a member without events.
    async fn note_idle_cost(&self, facts: &Facts, time: Duration) -> Result<(), BoxError> {
        let before = self.number(TRANSACTIONS).await?;
        sleep(time).await;
        let cost = self.number(TRANSACTIONS).await? - before;
        let text = format!("{cost} transactions in {time:?}, with the server's own");
        facts.set(format!("Idle member with {SLICES} slices"), text);
        Ok(())
    }
}
