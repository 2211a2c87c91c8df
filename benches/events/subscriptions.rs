//! Following the log: the delay until an event is delivered, and how fast a kept projection catches
//! up.
//!
//! - **Subscribe**, **Append**: 1,000 appends a second. A call of Append ends when the event is
//!   committed. A call of Subscribe ends later, when a subscription of another store has delivered
//!   the event.
//! - **Append beside a rebuild**: the same appends, while a sliced projection is rebuilt again and again
//!   from the events of the largest dataset, at full speed or slowed.
//! - **Rebuild**: a projection that keeps a counter in the log's database is built from the whole
//!   dataset, and from a million events.

use super::slices::{self, Pace};
use crate::support::content::Content;
use crate::support::log::{Log, Store};
use crate::support::reader::expect;
use crate::support::server::{Server, Servers};
use crate::support::size::Size;
use crate::support::{floors, million, raw, rows};
use bench::load::{Direct, DirectService, Load, Schedule, Service};
use bench::{BoxError, Goal, Op, Outcome, Profile, Row, Target};
use dcb_core::postgres::{Config, Handler, PostgresReadModel, PostgresStore};
use dcb_core::{
    Bookmark, EventStore as _, HandlerError, Position, ProjectionRunner, Query, SequencedEvent,
    SubscribeOptions,
};
use sqlx::PgConnection;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

const PER_SECOND: f64 = 1_000.0;
/// Callers that share the appends. One of them must be free whenever an append is due.
const CALLERS: usize = 100;
const SOON: Duration = Duration::from_millis(3);

pub(crate) fn declare(target: &mut Target, servers: &Servers) -> Result<(), BoxError> {
    let server = servers.local(target);
    let time = length(target.profile());
    for end in [End::Delivery, End::Commit] {
        let (row, load) = appends(&server, time, end);
        target.load(row, load);
    }
    let full = Size::of_tables(target.profile()).into_iter().next_back();
    if let Some(content) = full.map(|size| Content::Dataset(size.dataset)) {
        for pace in [Pace::Full, Pace::Slowed] {
            let log = Log::new(&server, content);
            let row = append_row(&format!("Append beside a rebuild {pace}"));
            let row = row.fills("subscriptions_delivery");
            let load = move || appender(log.clone(), End::Commit, Some(pace));
            target.load(row, Load::new(schedule(time), load));
        }
    }
    let mut logs: Vec<(&str, Content)> = Size::of_tables(target.profile())
        .into_iter()
        .filter(|size| size.has_goals())
        .map(|size| (size.label, Content::Dataset(size.dataset)))
        .collect();
    logs.push((million::LABEL, million::content(target.profile())));
    target.facts().set("Dataset Million", million::TEXT);
    for (label, content) in logs {
        let log = Log::new(&server, content);
        let (row, op) = rebuild(&log, label, content.events());
        target.row(row, &op);
    }
    Ok(())
}

fn length(profile: &Profile) -> Duration {
    if profile.is_smoke() {
        Duration::from_millis(200)
    } else if profile.is_full() {
        Duration::from_secs(30)
    } else {
        Duration::from_secs(4)
    }
}

/// The last position that the subscription delivered, or the error that ended it.
type Delivered = Result<u64, String>;

/// The moment at which a call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Delivery,
}

fn appends(server: &Arc<Server>, time: Duration, end: End) -> (Row, Load) {
    let row = match end {
        End::Commit => append_row("Append"),
        End::Delivery => Row::new("Subscribe", "PostgreSQL")
            .one_op("1 append, until a subscription of another store has handed out its event")
            .goal(Goal::p50(SOON).peer("one commit and one NOTIFY")),
    };
    let row = row
        .concurrency(CALLERS)
        .events(1)
        .goal(Goal::no_failed_call())
        .fills("subscriptions_delivery");
    let log = Log::new(server, Content::Past);
    let load = Load::new(schedule(time), move || appender(log.clone(), end, None));
    (row, load)
}

fn schedule(time: Duration) -> Schedule {
    Schedule::Open {
        per_second: PER_SECOND,
        callers: CALLERS,
        time,
    }
}

fn append_row(name: &str) -> Row {
    Row::new(name, "PostgreSQL")
        .one_op("1 append, until it is committed")
        .concurrency(CALLERS)
        .events(1)
        .goal(Goal::no_failed_call())
}

async fn appender(log: Log, end: End, beside: Option<Pace>) -> Result<impl Service, BoxError> {
    let database = log.renewed().await?;
    // Dropping the set aborts its tasks, so they end with the last caller.
    let mut follower = JoinSet::new();
    if let Some(pace) = beside {
        follower.spawn(slices::rebuild_again_and_again(Arc::clone(&database), pace));
    }
    let writer = Arc::new(Store::connect(Arc::clone(&database)).await?);
    let reader = Store::connect(database).await?;
    let after = reader.events.head().await?;
    let (delivered, follow) =
        watch::channel(Ok(Position::number_or_zero(Bookmark::position_of(after))));
    follower.spawn(async move {
        let options = SubscribeOptions::new();
        let mut events = reader.events.subscribe(Query::all(), after, options);
        while let Some(event) = events.next().await {
            let reached = event.map(|event| event.position().get());
            delivered.send_modify(|last| *last = reached.map_err(|error| error.to_string()));
        }
    });
    let follower = Arc::new(follower);
    let workload = Arc::new(rows::workload());
    Ok(DirectService::new(move |_caller| {
        let (writer, workload) = (Arc::clone(&writer), Arc::clone(&workload));
        let (follow, follower) = (follow.clone(), Arc::clone(&follower));
        move || {
            let (writer, course) = (Arc::clone(&writer), workload.course());
            let (mut follow, follower) = (follow.clone(), Arc::clone(&follower));
            Direct::new(async move {
                let position = writer.events.append(course).await?.first().get();
                if end == End::Delivery {
                    let reached =
                        |delivered: &Delivered| !matches!(delivered, Ok(at) if *at < position);
                    follow.wait_for(reached).await?.clone()?;
                }
                // Keeps the follower alive until the last call has ended.
                drop(follower);
                Ok(Outcome::Success)
            })
        }
    }))
}

/// Keeps the number of events that it has handled.
struct Counter;

impl Counter {
    const TABLE: &str = "CREATE TABLE IF NOT EXISTS counted (events bigint NOT NULL)";
    const NOTHING: &str = "INSERT INTO counted SELECT 0 WHERE NOT EXISTS (SELECT FROM counted)";
    const ADD: &str = "UPDATE counted SET events = events + $1";
    const RESET: &str = "UPDATE counted SET events = 0";
}

impl Handler for Counter {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        let add = sqlx::query(Self::ADD).bind(events.len() as i64);
        add.execute(transaction).await?;
        Ok(())
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        sqlx::query(Self::RESET).execute(transaction).await?;
        Ok(())
    }
}

type Runner = ProjectionRunner<PostgresStore, PostgresReadModel<Counter>>;

/// A runner and the store that it reads from.
struct KeptProjection {
    runner: Mutex<Runner>,
    _store: Store,
}

impl KeptProjection {
    async fn open(log: &Log) -> Result<Self, BoxError> {
        let database = log.database().await?;
        let mut connection = raw::connect(database.url()).await?;
        for sql in [Counter::TABLE, Counter::NOTHING] {
            sqlx::query(sql).execute(&mut connection).await?;
        }
        let model = PostgresReadModel::new(&Config::new(database.url()), "counted", Counter)?;
        let store = Store::connect(database).await?;
        let runner = ProjectionRunner::new(store.events.clone(), Query::all(), model);
        Ok(Self {
            runner: Mutex::new(runner),
            _store: store,
        })
    }
}

fn rebuild(log: &Log, label: &'static str, events: u64) -> (Row, Op) {
    let floor = floors::streamed_whole(log, events);
    let row = Row::new("Rebuild", label);
    // A rebuild of a million events takes about a second.
    let row = if label == million::LABEL {
        row.long_ops()
    } else {
        row
    };
    let row = row
        .on_the_dataset()
        .events(events)
        .one_op("1 projection emptied and brought to the end of the log")
        .floor(&floor)
        .goal(Goal::share_of(&floor, 0.7))
        .fills("subscriptions_catch_up");
    let set_up = Op::given(log, |log| async move { KeptProjection::open(&log).await });
    let op = set_up.call(move |kept, _call| async move {
        let reached = kept.runner.lock().await.rebuild().await?;
        expect(Position::number_or_zero(reached), events)?;
        Ok(Outcome::Success)
    });
    (row, op)
}
