//! disintegrate on PostgreSQL: `peer-disintegrate URL`. It needs PostgreSQL 16.

mod event;

use disintegrate::serde::json::Json;
use disintegrate::{EventStore as _, PersistedEvent, StreamItem};
use disintegrate_postgres::{Error, PgEventId, PgEventStore};
use event::{Enrollment, query_of};
use futures::TryStreamExt as _;
use peer_protocol::{Condition, EventPeer, Events, Failure, Hello, NewEvent, QueryItem, Read};
use sqlx::postgres::PgPoolOptions;
use std::io;

/// Connections of the pool.
const CONNECTIONS: u32 = 20;

struct Disintegrate(PgEventStore<Enrollment, Json<Enrollment>>);

async fn open(url: &str) -> Result<Disintegrate, Error> {
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .connect(url)
        .await?;
    PgEventStore::try_new(pool, Json::default())
        .await
        .map(Disintegrate)
}

fn failure(error: Error) -> Failure {
    let code = match &error {
        Error::Concurrency => return Failure::Conflict,
        Error::Database(sqlx::Error::Database(database)) => database.code(),
        _ => None,
    };
    // PostgreSQL could not order the transaction, and says to run it again.
    match code.as_deref() {
        Some("40001") => Failure::Conflict,
        _ => Failure::other(error),
    }
}

fn last(events: &[PersistedEvent<PgEventId, Enrollment>]) -> Result<u64, Failure> {
    let last = events
        .last()
        .ok_or_else(|| Failure::Other("nothing was appended".to_owned()))?;
    Ok(last.id().unsigned_abs())
}

impl EventPeer for Disintegrate {
    const BLOCKS: bool = false;

    async fn append(
        &self,
        events: Vec<NewEvent>,
        condition: Option<Condition>,
    ) -> Result<u64, Failure> {
        let events: Result<Vec<_>, _> = events.into_iter().map(Enrollment::try_from).collect();
        let events = events?;
        let appended = match condition {
            None => self.0.append_without_validation(events).await,
            Some(condition) => {
                let after = condition.after.unwrap_or(0).cast_signed();
                self.0
                    .append(events, query_of(&condition.items)?, after)
                    .await
            }
        };
        last(&appended.map_err(failure)?)
    }

    async fn read(&self, items: &[QueryItem], after: Option<u64>) -> Result<Read, Failure> {
        let query = query_of(items)?.change_origin(after.unwrap_or(0).cast_signed());
        let mut stream = self.0.stream::<Enrollment>(&query);
        let (mut events, mut head) = (Vec::new(), None);
        while let Some(item) = stream.try_next().await.map_err(failure)? {
            let position = item.id().unsigned_abs();
            match item {
                StreamItem::Event(event) => events.push(event.into_inner().recorded(position)),
                StreamItem::End(_) => head = Some(position),
            }
        }
        Ok(Read { events, head })
    }
}

fn main() -> io::Result<()> {
    let url = std::env::args().nth(1).unwrap_or_default();
    let hello = Hello::events(
        "disintegrate",
        "4.0.1",
        "a commit waits for the server's flush",
    );
    peer_protocol::serve(hello, async { open(&url).await.map(Events::new) })
}
