//! Writes with the bare driver: the cost of an append without the store.
//!
//! Each op writes the row's events to `dcb.event` and `dcb.event_tag` with all their indexes, in
//! one autocommit statement. It writes to a separate log with the row's content, so that it does
//! not disturb the row's appends. Like the store, the floor hashes the tags itself, so the server
//! hashes nothing. It reads the head only once, in the set-up, because nothing else writes to its
//! log.

use super::log::Log;
use super::raw::Connections;
use super::rows;
use bench::{BoxError, Op, Outcome};
use course_enrollment::workload::Workload;
use dcb_core::Event;
use dcb_core::postgres::tag_key;
use local_postgres::Database;
use sqlx::postgres::PgConnection;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use uuid::Uuid;

const INSERT_ONE: &str = "
    WITH new AS (
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
        VALUES ($1, clock_timestamp(), $2::uuid, $3, $4, NULL, $5)
    )
    INSERT INTO dcb.event_tag (key, position)
    SELECT u.key, $1 FROM unnest($6::bigint[]) u(key)";

const INSERT_SEVERAL: &str = "
    WITH new AS (
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
        SELECT $1 + u.ordinal - 1, clock_timestamp(), u.id::uuid, u.type, u.tags::text[], NULL, u.data
          FROM unnest($2, $3, $4, $5) WITH ORDINALITY u(id, type, tags, data, ordinal)
    )
    INSERT INTO dcb.event_tag (key, position)
    SELECT u.key, $1 + u.event FROM unnest($6::bigint[], $7::int[]) u(key, event)";

struct Writer {
    connections: Connections,
    next: AtomicI64,
    workload: Workload,
    _database: Arc<Database>,
}

/// An op whose calls write one event each.
pub(crate) fn single(log: &Log, connections: usize) -> Op {
    writer(log, connections).call(|writer, call| async move {
        let event = writer.workload.course();
        // Positions only have to be unique: the primary key orders the rows.
        let position = writer.next.fetch_add(1, Ordering::Relaxed);
        let mut connection = writer.connections.for_call(call).await;
        insert_one(&mut connection, position, &event).await?;
        Ok(Outcome::Success)
    })
}

/// An op whose call runs `turns` INSERTs of `count` courses.
pub(crate) fn courses(log: &Log, count: usize, turns: usize) -> Op {
    several(log, turns, move |workload| {
        (0..count).map(|_| workload.course()).collect()
    })
}

/// An op whose call writes `count` events of the mixture that large appends have.
pub(crate) fn mixture(log: &Log, count: usize) -> Op {
    several(log, 1, move |workload| workload.events(count))
}

fn several(
    log: &Log,
    turns: usize,
    events: impl Fn(&Workload) -> Vec<Event> + Copy + Send + Sync + 'static,
) -> Op {
    writer(log, 1).call(move |writer, call| async move {
        let mut connection = writer.connections.for_call(call).await;
        for _ in 0..turns {
            let events = events(&writer.workload);
            let position = writer
                .next
                .fetch_add(events.len() as i64, Ordering::Relaxed);
            insert_several(&mut connection, position, &events).await?;
        }
        Ok(Outcome::Success)
    })
}

fn writer(log: &Log, connections: usize) -> bench::AsyncOp<Writer> {
    // A separate log: see the module's documentation.
    Op::given(&log.beside(), move |log| async move {
        let database = log.database().await?;
        let connections = Connections::open(database.url(), connections).await?;
        let head: Option<i64> = sqlx::query_scalar("SELECT max(position) FROM dcb.event")
            .fetch_one(&mut *connections.first().await)
            .await?;
        Ok(Writer {
            connections,
            next: AtomicI64::new(head.unwrap_or(0) + 1),
            workload: rows::workload(),
            _database: database,
        })
    })
}

async fn insert_one(
    connection: &mut PgConnection,
    position: i64,
    event: &Event,
) -> Result<(), BoxError> {
    let tags: Vec<&str> = event.tags().collect();
    sqlx::query(INSERT_ONE)
        .bind(position)
        .bind(Uuid::now_v7().to_string())
        .bind(event.event_type())
        .bind(tags)
        .bind(event.data())
        .bind(tag_keys(event).collect::<Vec<_>>())
        .execute(connection)
        .await?;
    Ok(())
}

async fn insert_several(
    connection: &mut PgConnection,
    position: i64,
    events: &[Event],
) -> Result<(), BoxError> {
    let ids: Vec<String> = events.iter().map(|_| Uuid::now_v7().to_string()).collect();
    let types: Vec<&str> = events.iter().map(Event::event_type).collect();
    let tags: Vec<String> = events.iter().map(array_literal).collect();
    let data: Vec<&[u8]> = events.iter().map(Event::data).collect();
    let keys: Vec<i64> = events.iter().flat_map(tag_keys).collect();
    let owners: Vec<i32> = (0..)
        .zip(events)
        .flat_map(|(index, event)| event.tags().map(move |_| index))
        .collect();
    sqlx::query(INSERT_SEVERAL)
        .bind(position)
        .bind(ids)
        .bind(types)
        .bind(tags)
        .bind(data)
        .bind(keys)
        .bind(owners)
        .execute(connection)
        .await?;
    Ok(())
}

fn tag_keys(event: &Event) -> impl Iterator<Item = i64> {
    event
        .tags()
        .map(|tag| tag_key(tag, Some(event.event_type())))
}

/// The tags of an event as one text, because PostgreSQL has no ragged arrays. The workload's tags
/// need no escaping.
fn array_literal(event: &Event) -> String {
    let mut literal = String::from("{");
    for (index, tag) in event.tags().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(literal, "{comma}\"{tag}\"");
    }
    literal.push('}');
    literal
}
