//! Imports the tables of go-crablet into a store.

use std::fmt;
use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Acquire as _, Row as _};

use super::config::Config;
use super::error::error;
use crate::{Append, Error, Event, EventStore, Fault, Tracking};

/// A log that the Go library go-crablet wrote: the table `events` of a database.
#[derive(Clone)]
#[non_exhaustive]
pub struct GoLog {
    /// `postgres://user:password@host:port/database`.
    pub url: String,
    /// The schema with the tables. Default: `public`.
    pub schema: String,
    /// The source under which the store tracks the import. Default: `go-crablet`. Two logs imported
    /// into one store need different sources.
    pub source: String,
    /// Maximum number of events per commit. Default: 500.
    pub batch_events: usize,
}

/// The progress of an import and, at the end, its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoImported {
    /// Events appended by this import.
    pub events: u64,
    /// Events to append, counted when the import began.
    pub total: u64,
}

const COLUMNS: &str = "
    SELECT attname::text FROM pg_catalog.pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped";
const NEEDED: [&str; 5] = ["type", "tags", "data", "transaction_id", "position"];
/// The column with the time of an event: its current name and its older one.
const TIMES: [&str; 2] = ["occurred_at", "created_at"];

// By hand, to leave out the URL: it contains a password.
impl fmt::Debug for GoLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GoLog")
            .field("schema", &self.schema)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

impl GoLog {
    /// The metadata key of the time that the Go library recorded, as `2026-11-21T03:49:42.123456Z`.
    pub const OCCURRED_AT: &'static str = "occurredAt";

    /// The defaults, for the log in the database at `url`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: "public".to_owned(),
            source: "go-crablet".to_owned(),
            batch_events: 500,
        }
    }

    /// Sets `schema`.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets `source`.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// Appends the events of the table to `store`, by `position`, and reports after each commit.
    ///
    /// Copies type, tags and data unchanged, and the time as metadata ([`Self::OCCURRED_AT`]). The
    /// events get new ids. Transaction ids and the table `commands` are not imported. Each commit
    /// tracks the last table position it contains. So an interrupted import continues where it
    /// ended, and a completed one appends only newer events.
    ///
    /// The import locks the table against writers while it runs. Otherwise it could miss an event
    /// that is committed late with a low position.
    ///
    /// # Errors
    /// [`Fault::SchemaChanged`] if the table is not go-crablet's. [`Error::Import`] with
    /// the position of the first event that the store can't hold. [`Error::AlreadyTracked`] if
    /// another import of the same source is running. [`Fault::Unreachable`] or [`Fault::Refused`]
    /// from either database, and any other error of [`EventStore::submit`].
    pub async fn import<S: EventStore>(
        &self,
        store: &S,
        mut report: impl FnMut(GoImported),
    ) -> Result<GoImported, Error> {
        let config = Config::new(&self.url);
        let (mut connection, watch) = config.administrator::<Error>().await?;
        let table = self.table();
        let opening = async {
            let page = page_of(&table, self.time_column(&mut connection).await?);
            let begun = connection.begin().await;
            let mut reading = begun.map_err(|e| error(&e))?;
            let lock = format!("LOCK TABLE {table} IN SHARE MODE");
            // SHARE conflicts with writers, not with readers. Released when `reading` ends.
            let locked = sqlx::query(sqlx::AssertSqlSafe(lock)).execute(&mut *reading);
            locked.await.map_err(|e| error(&e))?;
            Ok::<_, Error>((page, reading))
        };
        let (page, mut reading) = watch.over(opening).await?;

        let mut last = self.last_imported(store).await?;
        let mut imported = GoImported {
            events: 0,
            total: watch.over(count_past(&mut reading, &table, last)).await?,
        };
        loop {
            let rows = async {
                let rows = sqlx::query(sqlx::AssertSqlSafe(page.as_str()))
                    .bind(last)
                    // With 0 the first page would be empty, and the import would seem complete.
                    .bind(self.batch_events.max(1) as i64)
                    .fetch_all(&mut *reading);
                rows.await.map_err(|e| error(&e))
            };
            let rows = watch.over(rows).await?;
            let events: Vec<Event> = rows.iter().map(event).collect::<Result<_, _>>()?;
            let Some(end) = rows.last() else {
                break;
            };
            last = end.try_get("position").map_err(|e| error(&e))?;
            imported.events += events.len() as u64;
            let tracking = Tracking::new(&self.source, last.unsigned_abs())?;
            // Outside of the watch, because the other store has its own limits.
            store.submit(Append::new(events).tracking(tracking)).await?;
            report(imported);
        }
        Ok(imported)
    }

    fn table(&self) -> String {
        format!("\"{}\".events", self.schema.replace('"', "\"\""))
    }

    async fn last_imported(&self, store: &impl EventStore) -> Result<i64, Error> {
        let tracked = store.tracked(&self.source).await?.unwrap_or(0);
        // A tracked position has at most 63 bits.
        Ok(i64::try_from(tracked).unwrap_or(i64::MAX))
    }

    async fn time_column(&self, connection: &mut PgConnection) -> Result<&'static str, Error> {
        let columns: Vec<String> = sqlx::query_scalar(COLUMNS)
            .bind(self.table())
            .fetch_all(connection)
            .await
            .map_err(|e| error(&e))?;
        let has = |name: &&str| columns.iter().any(|column| column == name);
        let lacking = NEEDED.into_iter().filter(|name| !has(name));
        let mut differences: Vec<String> = lacking
            .map(|name| format!("no column {name} of table events"))
            .collect();
        let time = TIMES.into_iter().find(has);
        if time.is_none() {
            differences.push("no column occurred_at of table events".to_owned());
        }
        match time {
            Some(time) if differences.is_empty() => Ok(time),
            _ => Err(Fault::schema_changed(&self.schema, differences).into()),
        }
    }
}

fn page_of(table: &str, time: &str) -> String {
    format!(
        "SELECT position, type::text AS type, tags::text[] AS tags, data::text AS data,
                to_char({time} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS time
           FROM {table} WHERE position > $1 ORDER BY position LIMIT $2"
    )
}

async fn count_past(connection: &mut PgConnection, table: &str, last: i64) -> Result<u64, Error> {
    let count = format!("SELECT count(*) FROM {table} WHERE position > $1");
    let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
        .bind(last)
        .fetch_one(connection)
        .await
        .map_err(|e| error(&e))?;
    Ok(count.unsigned_abs())
}

fn event(row: &PgRow) -> Result<Event, Error> {
    let position: i64 = row.try_get("position").map_err(|e| error(&e))?;
    let built = parts(row).map_err(|e| error(&e))?;
    built.build().map_err(|refused| Error::Import {
        entry: format!("position {position}"),
        source: Arc::new(refused),
    })
}

fn parts(row: &PgRow) -> Result<crate::EventBuilder, sqlx::Error> {
    let tags: Vec<String> = row.try_get("tags")?;
    let builder = Event::builder(row.try_get::<String, _>("type")?)
        .tags(tags)
        .data(row.try_get::<String, _>("data")?);
    let time: Option<String> = row.try_get("time")?;
    Ok(match time {
        Some(time) => builder.metadata(GoLog::OCCURRED_AT, time),
        None => builder,
    })
}
