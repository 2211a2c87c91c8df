//! Rebuilding a sliced projection: the events of each course, counted, with one worker and with four.
//!
//! The floor is a loop over the same statements: it reads a page, adds its counts, moves one checkpoint
//! and commits. The rows read and write at the same time, so they can be faster than the loop. SQLite has
//! one writer at a time, so it is measured with one worker.

mod members;
mod sqlite;

use crate::support::content::Content;
use crate::support::log::{Log, Store};
use crate::support::million;
use crate::support::raw;
use crate::support::reader::expect;
use crate::support::server::Servers;
use bench::{BoxError, Floor, Goal, Op, Outcome, Row, Target};
use dcb_core::postgres::{Config, Handler, PostgresStore, SlicedReadModel};
use dcb_core::{
    HandlerError, Query, SequencedEvent, SliceKey, SliceOptions, SlicedModel as _, SlicedRunner,
    SubscribeOptions,
};
use local_postgres::Database;
use sqlx::{Connection as _, PgConnection, Row as _};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tokio::sync::Mutex;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS by_course (course text PRIMARY KEY, events bigint)";
const PLACE: &str = "CREATE TABLE IF NOT EXISTS place (position bigint)";
const START: &str = "INSERT INTO place VALUES (0)";
const EMPTY: &str = "TRUNCATE by_course, place";
const ADD: &str = "INSERT INTO by_course SELECT * FROM unnest($1::text[], $2::bigint[]) \
    ON CONFLICT (course) DO UPDATE SET events = by_course.events + excluded.events";
const PAGE: &str = "\
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data \
      FROM dcb.event e WHERE e.position > $1 ORDER BY e.position LIMIT 4096";
const ADVANCE: &str = "UPDATE place SET position = $1";
const SUM: &str = "SELECT sum(events)::bigint FROM by_course";
/// The time of one worker, as a multiple of the loop's.
const MOST: f64 = 1.5;
/// The key of events that are not of a course.
const OTHERS: &str = "others";

pub(crate) fn rows(target: &mut Target, servers: &Servers) {
    let server = servers.local(target);
    let content = million::content(target.profile());
    let log = Log::new(&server, content);
    let floor = bare_loop(&log, content);
    let one = row(content, &floor).variant("PostgreSQL, workers 1");
    let one = one.goal(Goal::at_most_times(&floor, MOST));
    let four = row(content, &floor).variant("PostgreSQL, workers 4");
    let four = four.goal(Goal::share_of_row(&one, 1.7));
    for (workers, row) in [(1, one), (4, four)] {
        let options = SliceOptions::new().workers(workers);
        let set_up = Op::given(&log, move |log| async move {
            Rebuild::of(log.database().await?, options).await
        });
        let op = set_up.call(move |rebuild, _call| async move {
            expect(rebuild.again().await?, content.events())?;
            Ok(Outcome::Success)
        });
        target.row(row, &op);
    }
    sqlite::row(target, content);
    members::rows(target, servers);
}

fn row(content: Content, floor: &Floor) -> Row {
    Row::new("Rebuild in slices", million::LABEL)
        .long_ops()
        .on_the_dataset()
        .events(content.events())
        .one_op("1 sliced projection thrown away and built to the end of the log")
        .floor(floor)
        .fills("subscriptions_slices")
}

/// The number of events of each course.
type Counts<'e> = BTreeMap<&'e str, i64>;

fn by_course(events: &[SequencedEvent]) -> Counts<'_> {
    let mut counts = Counts::new();
    for event in events {
        let course = event.tag_value("course_id").unwrap_or(OTHERS);
        *counts.entry(course).or_default() += 1;
    }
    counts
}

/// Adds the counts of some events.
async fn add(connection: &mut PgConnection, counts: Counts<'_>) -> Result<(), sqlx::Error> {
    let courses: Vec<String> = counts.keys().map(|course| (*course).to_owned()).collect();
    let events: Vec<i64> = counts.into_values().collect();
    let add = sqlx::query(ADD).bind(courses).bind(events);
    add.execute(connection).await?;
    Ok(())
}

#[derive(Clone)]
struct ByCourse;

impl Handler for ByCourse {
    async fn handle(
        &mut self,
        transaction: &mut PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        Ok(add(transaction, by_course(events)).await?)
    }

    async fn reset(&mut self, transaction: &mut PgConnection) -> Result<(), HandlerError> {
        sqlx::query(EMPTY).execute(transaction).await?;
        Ok(())
    }
}

/// The speed of a rebuild beside other work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    Full,
    Slowed,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "at full speed",
            Self::Slowed => "at 10,000 events/s",
        })
    }
}

/// Rebuilds the projection without end. An error ends the bench program.
pub(crate) async fn rebuild_again_and_again(database: Arc<Database>, pace: Pace) {
    let options = SliceOptions::new().workers(2);
    let options = match pace {
        Pace::Full => options,
        Pace::Slowed => options
            .read(SubscribeOptions::new().batch_size(64))
            .events_per_second(10_000),
    };
    let rebuild = Rebuild::of(database, options).await;
    let rebuild = rebuild.expect("the projection opens");
    loop {
        rebuild.again().await.expect("the projection is rebuilt");
    }
}

type Runner = SlicedRunner<PostgresStore, SlicedReadModel<ByCourse>>;

/// A model, its runner, and the store that it reads from.
struct Rebuild {
    parts: Mutex<(SlicedReadModel<ByCourse>, Runner, PgConnection)>,
    _store: Store,
}

impl Rebuild {
    async fn of(database: Arc<Database>, options: SliceOptions) -> Result<Self, BoxError> {
        let mut connection = raw::connect(database.url()).await?;
        for sql in [TABLE, PLACE] {
            sqlx::query(sql).execute(&mut connection).await?;
        }
        let config = Config::new(database.url());
        let model = SlicedReadModel::new(&config, "by course", 1, ByCourse)?;
        let store = Store::connect(database).await?;
        let key = SliceKey::tag("course_id").or_without(OTHERS);
        let runner = SlicedRunner::new(store.events.clone(), Query::all(), key, model.clone())
            .options(options);
        Ok(Self {
            parts: Mutex::new((model, runner, connection)),
            _store: store,
        })
    }

    /// Returns the number of events that it has counted.
    async fn again(&self) -> Result<u64, BoxError> {
        let mut parts = self.parts.lock().await;
        let (model, runner, connection) = &mut *parts;
        model.discard().await?;
        runner.catch_up().await?;
        let counted: i64 = sqlx::query_scalar(SUM).fetch_one(connection).await?;
        Ok(counted.unsigned_abs())
    }
}

fn bare_loop(log: &Log, content: Content) -> Floor {
    let set_up = Op::given(log, |log| async move {
        let database = log.database().await?;
        let mut connection = raw::connect(database.url()).await?;
        for sql in [TABLE, PLACE] {
            sqlx::query(sql).execute(&mut connection).await?;
        }
        Ok((Mutex::new(connection), database))
    });
    let op = set_up.call(move |open, _call| async move {
        let mut connection = open.0.lock().await;
        let counted = count(&mut connection).await?;
        expect(counted.unsigned_abs(), content.events())?;
        Ok(Outcome::Success)
    });
    let what = "a loop over the same statements, one connection: read a page, add its counts, move the \
                checkpoint, commit";
    Floor::new("bare_rebuild", what, &op)
}

async fn count(connection: &mut PgConnection) -> Result<i64, BoxError> {
    for sql in [EMPTY, START] {
        sqlx::query(sql).execute(&mut *connection).await?;
    }
    let mut position = 0_i64;
    loop {
        let page = sqlx::query(PAGE)
            .bind(position)
            .fetch_all(&mut *connection)
            .await?;
        let Some(last) = page.last() else {
            return Ok(sqlx::query_scalar(SUM).fetch_one(connection).await?);
        };
        position = last.try_get(0)?;
        let tags: Vec<Vec<String>> = page
            .iter()
            .map(|row| row.try_get(4))
            .collect::<Result<_, _>>()?;
        let mut counts = Counts::new();
        for tags in &tags {
            let mut courses = tags.iter().filter_map(|tag| tag.strip_prefix("course_id:"));
            *counts.entry(courses.next().unwrap_or(OTHERS)).or_default() += 1;
        }
        let mut transaction = connection.begin().await?;
        sqlx::query(ADVANCE)
            .bind(position)
            .execute(&mut *transaction)
            .await?;
        add(&mut transaction, counts).await?;
        transaction.commit().await?;
    }
}
