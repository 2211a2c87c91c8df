//! Events in the tables that other libraries have made in PostgreSQL.

mod axon;
mod eventsourcing;
mod marten;
mod message_db;

use std::collections::VecDeque;
use std::time::SystemTime;

use jiff::Timestamp;
use serde_json::Value;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use uuid::Uuid;

use super::lines::metadata;
use super::{Entry, EntryError, Source, fault};
use crate::database::Database;
use crate::failure::{Failure, Kind};

/// Rows per read.
const PAGE: i64 = 500;

/// The libraries whose tables can be read.
pub(crate) enum Library {
    Axon,
    Eventsourcing { table: String },
    Marten,
    MessageDb,
}

/// A table of events, and how to read it.
struct Layout {
    /// The table, quoted.
    table: String,
    /// A SELECT of the columns `position` (bigint), `id`, `stream`, `type` (text), `data`, `metadata` (bytea;
    /// the metadata is a JSON object) and `time` (timestamptz), which may be null but for `position`, `type`
    /// and `data`. Its rows have the table's name `e`.
    select: String,
    /// The column with the position.
    position: &'static str,
}

/// The rows of a table, by position. The transaction locks writers out, because a row that is committed
/// late with a low position would be missed.
pub(crate) struct Table {
    connection: PgConnection,
    page_sql: String,
    page: VecDeque<PgRow>,
    last: i64,
}

impl Table {
    /// Opens the table of a library, by default in the schema that the library uses.
    pub(crate) async fn open(database: &Database, library: &Library) -> Result<Self, Failure> {
        let connection = PgConnection::connect(&database.url).await;
        let mut connection = connection.map_err(|failed| failure(&failed))?;
        let schema = database.schema.as_deref();
        let in_public = schema.unwrap_or("public");
        let Layout {
            table,
            select,
            position,
        } = match library {
            Library::Axon => axon::layout(&mut connection, in_public).await?,
            Library::Marten => marten::layout(&mut connection, in_public).await?,
            Library::MessageDb => {
                let schema = schema.unwrap_or("message_store");
                message_db::layout(&mut connection, schema).await?
            }
            Library::Eventsourcing { table } => {
                eventsourcing::layout(&mut connection, in_public, table).await?
            }
        };
        // SHARE lets others read. The lock ends with the connection.
        let lock = format!("BEGIN; LOCK TABLE {table} IN SHARE MODE");
        let locked = sqlx::raw_sql(AssertSqlSafe(lock)).execute(&mut connection);
        locked.await.map_err(|failed| failure(&failed))?;
        let page_sql = format!(
            "{select} FROM {table} AS e WHERE e.{position} > $1 ORDER BY e.{position} LIMIT {PAGE}"
        );
        Ok(Self {
            connection,
            page_sql,
            page: VecDeque::new(),
            last: 0,
        })
    }
}

impl Source for Table {
    async fn next(&mut self) -> Result<Option<Result<Entry, EntryError>>, Failure> {
        if self.page.is_empty() {
            let page = sqlx::query(AssertSqlSafe(self.page_sql.as_str())).bind(self.last);
            self.page = page
                .fetch_all(&mut self.connection)
                .await
                .map_err(|failed| failure(&failed))?
                .into();
        }
        let Some(row) = self.page.pop_front() else {
            return Ok(None);
        };
        self.last = row.try_get("position").map_err(|failed| failure(&failed))?;
        Ok(Some(entry(&row, self.last)))
    }

    async fn skip_through(&mut self, position: u64) -> Result<(), Failure> {
        self.last = i64::try_from(position).unwrap_or(i64::MAX);
        Ok(())
    }
}

fn entry(row: &PgRow, position: i64) -> Result<Entry, EntryError> {
    let place = format!("position {position}");
    let read = || -> Result<Entry, Box<dyn std::error::Error>> {
        let id: Option<String> = row.try_get("id")?;
        let id = id.map(|id| id.parse::<Uuid>());
        let bytes: Option<Vec<u8>> = row.try_get("metadata")?;
        let entries = match bytes.as_deref() {
            None | Some(b"" | b"null") => serde_json::Map::new(),
            Some(bytes) => match serde_json::from_slice(bytes) {
                Ok(Value::Object(entries)) => entries,
                _ => return Err("the metadata is not a JSON object".into()),
            },
        };
        let micros: Option<i64> = row.try_get("time")?;
        let time = micros.map(Timestamp::from_microsecond).transpose()?;
        Ok(Entry {
            place: place.clone(),
            position: position.unsigned_abs(),
            id: id.transpose()?,
            stream: row.try_get("stream")?,
            event_type: row.try_get("type")?,
            tags: Vec::new(),
            metadata: metadata(entries),
            data: row.try_get("data")?,
            recorded_at: time.map(SystemTime::from),
        })
    };
    read().map_err(|failed| fault(&place, failed))
}

/// The table's name with its schema, both quoted, and its columns with their types.
async fn columns(
    connection: &mut PgConnection,
    schema: &str,
    name: &str,
) -> Result<(String, Vec<(String, String)>), Failure> {
    const COLUMNS: &str = "
        SELECT attname::text, format_type(atttypid, NULL)
          FROM pg_catalog.pg_attribute
         WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped";
    let table = format!("{}.{}", quoted(schema), quoted(name));
    let columns = sqlx::query_as(COLUMNS)
        .bind(&table)
        .fetch_all(connection)
        .await;
    Ok((table, columns.map_err(|failed| failure(&failed))?))
}

/// Refuses a table that lacks one of these columns.
fn require(table: &str, columns: &[(String, String)], needed: &[&str]) -> Result<(), Failure> {
    let has = |name: &str| columns.iter().any(|(column, _)| column == name);
    let lacking: Vec<&str> = needed.iter().copied().filter(|name| !has(name)).collect();
    match (columns.is_empty(), lacking.is_empty()) {
        (true, _) => Err(Failure::unusable(format!("there is no table {table}"))),
        (_, true) => Ok(()),
        (_, false) => Err(Failure::unusable(format!(
            "the table {table} lacks the columns {}",
            lacking.join(", ")
        ))),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A column of `timestamptz` as the source's `time`: microseconds.
fn micros(expression: &str) -> String {
    format!("(extract(epoch FROM {expression}) * 1000000)::bigint AS time")
}

fn failure(failed: &sqlx::Error) -> Failure {
    let kind = match failed {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Kind::Unreachable,
        _ => Kind::Unusable,
    };
    Failure::new(kind, failed.to_string())
}
