//! The bare rusqlite on the store's tables: prepared statements, one connection, owned results.

use super::Published;
use super::backends::Sqlite;
use super::ops::{DATA, TYPE, new_stream};
use bench::{BoxError, Floor, Op, Outcome};
use message_store::sqlite::BlockingSqliteStore;
use rusqlite::Connection;
use std::hint::black_box;
use std::sync::Mutex;
use tempfile::TempDir;
use uuid::Uuid;

const INSERT: &str = "INSERT INTO messages \
    (position, time, stream_name, category, type, data, metadata, id, correlation) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, NULL)";
const VERSION: &str =
    "SELECT position FROM messages WHERE stream_name = ?1 ORDER BY position DESC LIMIT 1";
const STREAM: &str = "SELECT id, stream_name, type, position, global_position, data, metadata, time \
    FROM messages WHERE stream_name = ?1 AND position >= ?2 ORDER BY position LIMIT 10";
const CATEGORY: &str = "SELECT id, stream_name, type, position, global_position, data, metadata, time \
    FROM messages INDEXED BY messages_category \
    WHERE category = ?1 AND global_position >= ?2 ORDER BY global_position LIMIT 100";

pub(crate) struct Raw {
    connection: Mutex<Connection>,
    _folder: TempDir,
}

/// The floor of a published op.
pub(crate) fn published(sqlite: &Sqlite, published: Published) -> Floor {
    let sqlite = *sqlite;
    let op = Op::blocking(move || Raw::open(sqlite, published));
    let op = op.call(move |raw: &Raw, _call| {
        let connection = raw.connection.lock().map_err(|_| "an op panicked")?;
        match published {
            Published::Write => write(&connection, new_stream("account").as_str(), 1)?,
            Published::Stream => read(&connection, STREAM, "account-0", 0)?,
            Published::Category => read(&connection, CATEGORY, "account", 1)?,
        }
        Ok(Outcome::Success)
    });
    let (name, what) = match published {
        Published::Write => (
            "rusqlite_write",
            "version and INSERT in a transaction, rusqlite",
        ),
        Published::Stream => (
            "rusqlite_10",
            "the same SELECT of 10 rows, rusqlite, owned values",
        ),
        Published::Category => (
            "rusqlite_100",
            "the same SELECT of 100 rows, rusqlite, owned values",
        ),
    };
    let storage = match sqlite.is_memory() {
        true => "in memory".to_owned(),
        false => format!("a file, synchronous = {}", sqlite.synchronous()),
    };
    Floor::new(name, &format!("{what}; {storage}"), &op)
}

impl Raw {
    /// Commits `messages` rows in a transaction, each the first of a new stream.
    pub(crate) fn commit_rows(&self, messages: usize) -> Result<(), BoxError> {
        let connection = self.connection.lock().map_err(|_| "a call panicked")?;
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for _ in 0..messages {
            write_row(&connection, new_stream("account").as_str(), 0)?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    pub(crate) fn open(sqlite: Sqlite, published: Published) -> Result<Self, BoxError> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("raw.db");
        // The store makes the tables in a file. For a floor in memory their definitions are copied.
        let config = message_store::sqlite::Config::file(&file);
        BlockingSqliteStore::open(config)?.close();
        let connection = Connection::open(&file)?;
        let connection = if sqlite.is_memory() {
            copied_to_memory(&connection)?
        } else {
            connection
        };
        connection.pragma_update(None, "synchronous", sqlite.synchronous())?;
        for number in 0..published.streams() {
            let messages = 100 / published.streams();
            write(&connection, &format!("account-{number}"), messages as i64)?;
        }
        Ok(Self {
            connection: Mutex::new(connection),
            _folder: folder,
        })
    }
}

fn copied_to_memory(file: &Connection) -> Result<Connection, BoxError> {
    let memory = Connection::open_in_memory()?;
    let mut select = file.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
    let statements = select.query_map([], |row| row.get::<_, String>(0))?;
    for statement in statements {
        memory.execute_batch(&statement?)?;
    }
    Ok(memory)
}

fn write(connection: &Connection, stream: &str, messages: i64) -> Result<(), BoxError> {
    connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let mut version = connection.prepare_cached(VERSION)?;
    let last: Option<i64> = match version.query([stream])?.next()? {
        Some(row) => Some(row.get(0)?),
        None => None,
    };
    let next = last.map_or(0, |last| last + 1);
    for position in next..next + messages {
        write_row(connection, stream, position)?;
    }
    connection.prepare_cached("COMMIT")?.execute([])?;
    Ok(())
}

fn write_row(connection: &Connection, stream: &str, position: i64) -> Result<(), BoxError> {
    connection
        .prepare_cached(INSERT)?
        .execute(rusqlite::params![
            position,
            1_700_000_000_000_000_i64,
            stream,
            stream.split('-').next(),
            TYPE,
            DATA,
            Uuid::now_v7().as_bytes().as_slice(),
        ])?;
    Ok(())
}

fn read(connection: &Connection, sql: &str, name: &str, from: i64) -> Result<(), BoxError> {
    type Row = (Vec<u8>, String, String, i64, i64, String, i64);
    let mut select = connection.prepare_cached(sql)?;
    let rows = select.query_map(
        rusqlite::params![name, from],
        |row| -> rusqlite::Result<Row> {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(7)?,
            ))
        },
    )?;
    black_box(rows.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}
