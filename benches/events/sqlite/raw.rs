//! The floors: the same work as a loop over prepared SQLite statements, with the same schema and
//! settings.

use super::embedded::{Storage, expect};
use bench::{BoxError, Op, Outcome};
use course_enrollment::workload::{self, Workload};
use dcb_core::{Event, Tag};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Params, Result, Row};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;
use uuid::Uuid;

const SCHEMA: [&str; 3] = [
    include_str!("../../../schema/dcb/sqlite/tables/dcb_event.sql"),
    include_str!("../../../schema/dcb/sqlite/tables/dcb_event_tag.sql"),
    include_str!("../../../schema/dcb/sqlite/indexes/dcb_event_id.sql"),
];
const TYPE_BITS: i64 = 0xff_ffff;
const RECORDED_AT: i64 = 1_735_689_600_000_000;

struct Raw {
    connection: Mutex<Connection>,
    workload: Workload,
    _folder: TempDir,
}

/// An op whose call appends one event, unless an event meets its condition.
pub(crate) fn append_if(storage: Storage) -> Op {
    Op::blocking(move || Raw::open(storage)).call(|raw, _call| {
        let (event, condition) = (raw.workload.course(), raw.workload.unmet_condition());
        let tags = condition.fail_if_events_match.items()[0].tags();
        let connection = raw
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        append(&connection, &event, tags)?;
        Ok(Outcome::Success)
    })
}

/// An op whose call commits `batches` transactions. Each makes `batch` appends as in [`append_if`].
pub(crate) fn append_if_in_batches(batches: usize, batch: usize) -> Op {
    Op::blocking(move || Raw::open(Storage::File)).call(move |raw, _call| {
        let connection = raw
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for _ in 0..batches {
            run(&connection, "BEGIN IMMEDIATE", [])?;
            for _ in 0..batch {
                let (event, condition) = (raw.workload.course(), raw.workload.unmet_condition());
                let tags = condition.fail_if_events_match.items()[0].tags();
                write(&connection, &event, tags)?;
            }
            run(&connection, "COMMIT", [])?;
        }
        Ok(Outcome::Success)
    })
}

/// Commits rows of the events' table and nothing else: no tag keys, no conditions.
pub(crate) struct BareRows {
    raw: Raw,
    next: AtomicI64,
}

impl BareRows {
    pub(crate) fn open(storage: Storage) -> Result<Self, BoxError> {
        Ok(Self {
            raw: Raw::open(storage)?,
            next: AtomicI64::new(1),
        })
    }

    /// Commits `batch` rows in a transaction.
    pub(crate) fn commit(&self, batch: i64) -> Result<(), BoxError> {
        let Raw {
            connection,
            workload,
            ..
        } = &self.raw;
        let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let first = self.next.fetch_add(batch, Ordering::Relaxed);
        run(&connection, "BEGIN IMMEDIATE", [])?;
        for position in first..first + batch {
            write_row(&connection, position, &workload.course())?;
        }
        run(&connection, "COMMIT", [])
    }
}

/// An op whose call reads `count` events by the key of a type and a tag.
pub(crate) fn query(storage: Storage, count: usize) -> Op {
    const BY_KEY: &str = "SELECT e.* FROM dcb_event_tag t \
        CROSS JOIN dcb_event e ON e.position = t.position WHERE t.key = ?1 ORDER BY t.position";
    let category = "category:Computer Science";
    let key = key(category, "CourseOffered");
    read(storage, BY_KEY, key, count)
}

/// An op whose call reads `count` events by position.
pub(crate) fn scan(storage: Storage, count: usize) -> Op {
    const PAST: &str = "SELECT * FROM dcb_event WHERE position > ?1 ORDER BY position";
    read(storage, PAST, 0, count)
}

fn read(storage: Storage, sql: &'static str, parameter: i64, count: usize) -> Op {
    let set_up = move || {
        let raw = Raw::open(storage)?;
        let connection = raw
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for event in workload::past_events() {
            append(&connection, &event, &[])?;
        }
        drop(connection);
        Ok(raw)
    };
    Op::blocking(set_up).call(move |raw, _call| {
        let connection = raw
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut statement = connection.prepare_cached(sql)?;
        let events: Vec<Owned> = statement
            .query_map([parameter], Owned::from_row)?
            .collect::<Result<_>>()?;
        expect(events.len(), count)?;
        black_box(events);
        Ok(Outcome::Success)
    })
}

/// A row as the loop returns it.
#[expect(
    dead_code,
    reason = "the loop makes these values, and no caller reads them"
)]
struct Owned {
    position: i64,
    recorded_at: i64,
    id: [u8; 16],
    event_type: String,
    tags: String,
    metadata: Option<String>,
    data: Vec<u8>,
}

impl Owned {
    fn from_row(row: &Row<'_>) -> Result<Self> {
        Ok(Self {
            position: row.get(0)?,
            recorded_at: row.get(1)?,
            id: row.get(2)?,
            event_type: row.get(3)?,
            tags: row.get(4)?,
            metadata: row.get(5)?,
            data: row.get(6)?,
        })
    }
}

impl Raw {
    fn open(storage: Storage) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let connection = match storage {
            Storage::Memory => Connection::open_in_memory()?,
            Storage::File => Connection::open(folder.path().join("raw.db"))?,
        };
        // As in the store, a prepared statement keeps its plan.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        if storage == Storage::File {
            let wal = "PRAGMA journal_mode = WAL";
            expect(
                connection.query_row(wal, [], |row| row.get::<_, String>(0))? == "wal",
                true,
            )?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            // The same settings as the store's.
            connection.pragma_update(None, "wal_autocheckpoint", 2_000)?;
        }
        for object in SCHEMA {
            connection.execute_batch(object)?;
        }
        Ok(Self {
            connection: Mutex::new(connection),
            workload: Workload::new(2),
            _folder: folder,
        })
    }
}

fn append(connection: &Connection, event: &Event, unless: &[Tag]) -> Result<(), BoxError> {
    run(connection, "BEGIN IMMEDIATE", [])?;
    write(connection, event, unless)?;
    run(connection, "COMMIT", [])
}

fn write(connection: &Connection, event: &Event, unless: &[Tag]) -> Result<(), BoxError> {
    let head: Option<i64> = connection
        .prepare_cached("SELECT max(position) FROM dcb_event")?
        .query_row([], |row| row.get(0))?;
    let position = head.unwrap_or(0) + 1;
    let mut first = connection
        .prepare_cached("SELECT key FROM dcb_event_tag WHERE key >= ?1 AND key <= ?2 LIMIT 1")?;
    let mut is_met = !unless.is_empty();
    for tag in unless {
        let lowest = tag_bits(tag.as_str());
        is_met = is_met && first.exists((lowest, lowest | TYPE_BITS))?;
    }
    expect(is_met, false)?;
    write_row(connection, position, event)?;
    // A row with the empty tag finds the event by its type alone.
    for tag in event.tags().chain([""]) {
        let key = key(tag, event.event_type());
        run(
            connection,
            "INSERT INTO dcb_event_tag VALUES (?1, ?2)",
            (key, position),
        )?;
    }
    Ok(())
}

fn write_row(connection: &Connection, position: i64, event: &Event) -> Result<(), BoxError> {
    let tags: Vec<&str> = event.tags().collect();
    run(
        connection,
        "INSERT INTO dcb_event VALUES (?1, ?2, ?3, ?4, ?5, NULL, ?6)",
        (
            position,
            RECORDED_AT,
            Uuid::now_v7().as_bytes(),
            event.event_type(),
            format!("[\"{}\"]", tags.join("\",\"")),
            event.data(),
        ),
    )
}

fn run(connection: &Connection, sql: &str, parameters: impl Params) -> Result<(), BoxError> {
    connection.prepare_cached(sql)?.execute(parameters)?;
    Ok(())
}

fn key(tag: &str, event_type: &str) -> i64 {
    tag_bits(tag) | (hash(event_type) & TYPE_BITS)
}

fn tag_bits(tag: &str) -> i64 {
    hash(tag) & !TYPE_BITS
}

fn hash(text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish().cast_signed()
}
