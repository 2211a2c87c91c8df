//! One function, called in one statement.

use deadpool_postgres::{Client, Config, Pool, PoolConfig, Runtime};
use peer_protocol::{Condition, EventPeer, Failure, NewEvent, QueryItem, Read, Recorded};
use serde_json::{Value, json};
use std::error::Error as StdError;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Json, ToSql};
use tokio_postgres::{IsolationLevel, NoTls, Row};

const APPEND: &str = "SELECT append_if($1, $2, $3, $4)";
/// Connections of the pool.
const CONNECTIONS: usize = 20;

pub(crate) struct Textbook {
    pool: Pool,
    is_serializable: bool,
}

/// A pool of connections to the database at the URL, with these options of a session.
pub(crate) fn pool(url: &str, options: &str) -> Result<Pool, Box<dyn StdError + Send + Sync>> {
    let config = Config {
        url: Some(url.to_owned()),
        options: Some(options.to_owned()),
        pool: Some(PoolConfig::new(CONNECTIONS)),
        ..Config::new()
    };
    Ok(config.create_pool(Some(Runtime::Tokio1), NoTls)?)
}

pub(crate) async fn open(
    url: &str,
    is_serializable: bool,
) -> Result<Textbook, Box<dyn StdError + Send + Sync>> {
    let pool = pool(url, "")?;
    pool.get()
        .await?
        .batch_execute(include_str!("append_if.sql"))
        .await?;
    Ok(Textbook {
        pool,
        is_serializable,
    })
}

fn items_json(items: &[QueryItem]) -> Value {
    let items = items.iter();
    items
        .map(|item| json!({"types": item.types, "tags": item.tags}))
        .collect()
}

fn event_json(event: &NewEvent) -> Result<Value, serde_json::Error> {
    let data: Value = serde_json::from_slice(&event.data)?;
    Ok(json!({"id": event.id, "type": event.event_type, "tags": event.tags, "data": data}))
}

fn recorded(row: &Row) -> Option<Recorded> {
    Some(Recorded {
        position: row.get::<_, Option<i64>>(1)?.unsigned_abs(),
        id: row.get(2),
        event_type: row.get(3),
        tags: row.get(4),
        data: row.get::<_, String>(5).into_bytes(),
    })
}

/// PostgreSQL could not order the transaction; it says to run it again.
fn is_unordered(error: &tokio_postgres::Error) -> bool {
    let codes = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}

impl Textbook {
    async fn client(&self) -> Result<Client, Failure> {
        self.pool.get().await.map_err(Failure::other)
    }

    async fn call(
        &self,
        client: &mut Client,
        events: &Value,
        items: &Value,
        after: i64,
    ) -> Result<Option<i64>, tokio_postgres::Error> {
        let (events, items) = (Json(events), Json(items));
        if !self.is_serializable {
            let append = client.prepare_cached(APPEND).await?;
            return client
                .query_one(&append, &[&events, &items, &after, &true])
                .await?
                .try_get(0);
        }
        let append = client.prepare_cached(APPEND).await?;
        let begun = client
            .build_transaction()
            .isolation_level(IsolationLevel::Serializable);
        let begun = begun.start().await?;
        let last = begun
            .query_one(&append, &[&events, &items, &after, &false])
            .await?
            .try_get(0)?;
        begun.commit().await?;
        Ok(last)
    }
}

impl EventPeer for Textbook {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events: Result<Value, _> = events.iter().map(event_json).collect();
        let events = events.map_err(Failure::other)?;
        let items = condition
            .as_ref()
            .map_or(json!([]), |condition| items_json(&condition.items));
        let after = condition
            .and_then(|condition| condition.after)
            .unwrap_or(0)
            .cast_signed();
        let mut client = self.client().await?;
        loop {
            match self.call(&mut client, &events, &items, after).await {
                Ok(Some(last)) => return Ok(last.unsigned_abs()),
                Ok(None) => return Err(Failure::Conflict),
                Err(error) if is_unordered(&error) => {}
                Err(error) => return Err(Failure::other(error)),
            }
        }
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let after = after.unwrap_or(0).cast_signed();
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&after];
        for item in items {
            parameters.push(&item.tags);
            parameters.push(&item.types);
        }
        let client = self.client().await?;
        let read = client
            .prepare_cached(&read_sql(items.len()))
            .await
            .map_err(Failure::other)?;
        let rows = client
            .query(&read, &parameters)
            .await
            .map_err(Failure::other)?;
        let head: Option<i64> = rows.first().and_then(|row| row.get(0));
        Ok(Read {
            events: rows.iter().filter_map(recorded).collect(),
            head: head.map(i64::unsigned_abs),
        })
    }
}

/// One statement, so one snapshot for the head and the events. A row without an event has only the head.
fn read_sql(items: usize) -> String {
    let alternatives = (0..items).map(|item| {
        let (tags, types) = (2 * item + 2, 2 * item + 3);
        format!("e.tags @> ${tags} AND (${types}::text[] = '{{}}' OR e.type = ANY (${types}))")
    });
    let wanted = match items {
        0 => "true".to_owned(),
        _ => alternatives.collect::<Vec<_>>().join(" OR "),
    };
    format!(
        "SELECT head, e.position, e.id, e.type, e.tags, e.data::text \
         FROM (SELECT max(position) AS head FROM event) AS log \
         LEFT JOIN event e ON e.position > $1 AND ({wanted}) ORDER BY e.position"
    )
}
