//! The rebuild in a SQLite file beside the log's, flushed at every commit.

use super::{Counts, MOST, OTHERS, by_course};
use crate::support::content::{self, Content};
use crate::support::reader::expect;
use bench::{BoxError, Floor, Goal, Op, Outcome, Target};
use dcb_core::sqlite::{Config, Handler, SlicedReadModel, SqliteStore, Transaction};
use dcb_core::{
    Event, EventStore as _, HandlerError, Query, ReadOptions, SequencedEvent, SliceKey,
    SliceOptions, SlicedModel as _, SlicedRunner,
};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::{Mutex, OnceCell};
use tokio::task::spawn_blocking;

const TABLES: &str = "\
    PRAGMA journal_mode = WAL; \
    CREATE TABLE IF NOT EXISTS by_course (course TEXT PRIMARY KEY, events INTEGER) WITHOUT ROWID; \
    CREATE TABLE IF NOT EXISTS place (position INTEGER)";
const ADD: &str = "INSERT INTO by_course VALUES (?1, ?2) \
    ON CONFLICT DO UPDATE SET events = events + excluded.events";
const SUM: &str = "SELECT sum(events) FROM by_course";
const EMPTY: &str = "DELETE FROM by_course";
const START: &str = "DELETE FROM place; INSERT INTO place VALUES (0)";
const PAGE: &str = "\
    SELECT position, recorded_at, id, type, tags, metadata, data FROM dcb_event \
     WHERE position > ?1 ORDER BY position LIMIT 4096";
const ADVANCE: &str = "UPDATE place SET position = ?1";

pub(super) fn row(target: &mut Target, content: Content) {
    let log = Log {
        content,
        made: Arc::default(),
    };
    let floor = bare_loop(&log);
    let row = super::row(content, &floor).variant("SQLite, workers 1");
    let row = row.goal(Goal::at_most_times(&floor, MOST));
    let set_up = Op::given(&log, |log| async move { Rebuild::of(&log).await });
    let op = set_up.call(move |rebuild, _call| async move {
        expect(rebuild.again().await?, content.events())?;
        Ok(Outcome::Success)
    });
    target.row(row, &op);
}

/// The log in a file. The row and its floor share it.
#[derive(Clone)]
struct Log {
    content: Content,
    made: Arc<OnceCell<TempDir>>,
}

impl Log {
    async fn folder(&self) -> Result<&Path, BoxError> {
        let made = self.made.get_or_try_init(|| self.make()).await?;
        Ok(made.path())
    }

    async fn make(&self) -> Result<TempDir, BoxError> {
        let folder = tempfile::tempdir()?;
        let store = open(folder.path()).await?;
        content::fill_store(self.content, &store).await?;
        repeat(&store, self.content.events()).await?;
        store.close().await;
        Ok(folder)
    }
}

/// Appends the events of the log again, with other ids of courses and students, until it has this many.
async fn repeat(store: &SqliteStore, events: u64) -> Result<(), BoxError> {
    let first = store.query(&Query::all(), ReadOptions::new()).await?.events;
    let mut batch = Vec::new();
    for number in first.len()..events as usize {
        let (copy, event) = (number / first.len(), &first[number % first.len()]);
        let tag = |tag: &str| match tag.contains("_id:") {
            true => format!("{tag}-{copy}"),
            false => tag.to_owned(),
        };
        let event = Event::builder(event.event_type())
            .tags(event.tags().map(tag))
            .data(event.data())
            .build()?;
        batch.push(event);
        if batch.len() == 1_000 {
            store.append(std::mem::take(&mut batch)).await?;
        }
    }
    if !batch.is_empty() {
        store.append(batch).await?;
    }
    Ok(())
}

async fn open(folder: &Path) -> Result<SqliteStore, BoxError> {
    Ok(SqliteStore::open(Config::file(folder.join("log.db"))).await?)
}

/// A connection to a file of tables.
fn tables(file: &Path) -> Result<Connection, BoxError> {
    let connection = Connection::open(file)?;
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn add(transaction: &Transaction<'_>, counts: Counts<'_>) -> rusqlite::Result<()> {
    let mut add = transaction.prepare_cached(ADD)?;
    for count in counts {
        add.execute(count)?;
    }
    Ok(())
}

#[derive(Clone)]
struct ByCourse;

impl Handler for ByCourse {
    fn handle(
        &mut self,
        transaction: &Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        Ok(add(transaction, by_course(events))?)
    }

    fn reset(&mut self, transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(transaction.execute_batch(EMPTY)?)
    }
}

type Runner = SlicedRunner<SqliteStore, SlicedReadModel<ByCourse>>;

/// A model and its runner.
struct Rebuild {
    parts: Mutex<(SlicedReadModel<ByCourse>, Runner)>,
    tables: PathBuf,
}

impl Rebuild {
    async fn of(log: &Log) -> Result<Self, BoxError> {
        let folder = log.folder().await?;
        let file = folder.join("slices.db");
        tables(&file)?;
        let model = SlicedReadModel::new(Config::file(&file), "by course", 1, ByCourse)?;
        let key = SliceKey::tag("course_id").or_without(OTHERS);
        let runner = SlicedRunner::new(open(folder).await?, Query::all(), key, model.clone())
            .options(SliceOptions::new());
        Ok(Self {
            parts: Mutex::new((model, runner)),
            tables: file,
        })
    }

    /// Returns the number of events that it has counted.
    async fn again(&self) -> Result<u64, BoxError> {
        let mut parts = self.parts.lock().await;
        let (model, runner) = &mut *parts;
        model.discard().await?;
        runner.catch_up().await?;
        let sum = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let counted = tables(&self.tables)?.query_row(SUM, [], sum)?;
        Ok(counted.unsigned_abs())
    }
}

fn bare_loop(log: &Log) -> Floor {
    let events = log.content.events();
    let set_up = Op::given(log, |log| async move {
        let folder = log.folder().await?;
        Ok((folder.join("log.db"), folder.join("loop.db")))
    });
    let op = set_up.call(move |files, _call| async move {
        let (log, tables) = (files.0.clone(), files.1.clone());
        let counted = spawn_blocking(move || count(&log, &tables)).await??;
        expect(counted.unsigned_abs(), events)?;
        Ok(Outcome::Success)
    });
    let what = "a loop over the same statements, one connection to each file: read a page with all \
                columns, add its counts, move the checkpoint, commit";
    Floor::new("bare_rebuild_sqlite", what, &op)
}

/// The columns that the loop copies and does not use.
type Rest = (i64, Vec<u8>, String, Option<String>, Vec<u8>);

fn count(log: &Path, file: &Path) -> Result<i64, BoxError> {
    let log = Connection::open(log)?;
    let mut tables = tables(file)?;
    for sql in [EMPTY, START] {
        tables.execute_batch(sql)?;
    }
    let mut position = 0_i64;
    loop {
        let mut page = log.prepare_cached(PAGE)?;
        let rows = page.query_map([position], |row| {
            let rest: Rest = (
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(5)?,
                row.get(6)?,
            );
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(4)?, rest))
        })?;
        let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        let Some((last, ..)) = rows.last() else {
            return Ok(tables.query_row(SUM, [], |row| row.get(0))?);
        };
        position = *last;
        let mut counts = Counts::new();
        for (_, tags, _) in &rows {
            let course = tags.split_once("\"course_id:").map(|(_, rest)| rest);
            let course = course.and_then(|rest| rest.split_once('"'));
            let course = course.map_or(OTHERS, |(course, _)| course);
            *counts.entry(course).or_default() += 1;
        }
        let transaction = tables.transaction()?;
        transaction.execute(ADVANCE, [position])?;
        add(&transaction, counts)?;
        transaction.commit()?;
        std::hint::black_box(&rows);
    }
}
