//! sqlx alone, on the store's own schema: prepared statements, one connection, fetched rows.

use super::Published;
use super::backends::{Backend as _, Postgres};
use super::ops::{DATA, TYPE, new_stream};
use bench::{BoxError, Floor, Op, Outcome};
use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{ExpectedVersion, Message, MessageStore as _, StreamName};
use sqlx::PgConnection;
use std::hint::black_box;
use tokio::sync::Mutex;
use uuid::Uuid;

/// What a client of the SQL interface sends.
const WRITE: &str = "SELECT message_store.write_message($1, $2, $3, $4::text::jsonb)";
const INSERT_SEVERAL: &str = "INSERT INTO message_store.messages (id, stream_name, position, type, data) \
     SELECT i::uuid, s, 0, $3, $4::text::jsonb FROM unnest($1::text[], $2::text[]) u(i, s)";
const STREAM: &str = "SELECT id, stream_name, type, position, global_position, data::text, \
     metadata::text, time FROM message_store.messages \
     WHERE stream_name = $1 AND position >= $2 ORDER BY position LIMIT 10";
const CATEGORY: &str = "SELECT id, stream_name, type, position, global_position, data::text, \
     metadata::text, time FROM message_store.messages \
     WHERE (message_store.category(stream_name), global_position) >= ($1, $2) \
       AND message_store.category(stream_name) <= $1 \
     ORDER BY message_store.category(stream_name), global_position LIMIT 100";

/// One connection to a database with the store's schema.
pub(crate) struct Raw {
    connection: Mutex<PgConnection>,
    _database: Database,
}

impl Raw {
    async fn open(
        postgres: Postgres,
        content: impl Iterator<Item = (StreamName, Vec<Message>)>,
    ) -> Result<Self, BoxError> {
        let database = postgres.database().await?;
        let store = PostgresStore::connect(Config::new(database.url())).await?;
        for (name, messages) in content {
            store
                .write_batch(&name, messages, ExpectedVersion::Any)
                .await?;
        }
        store.close().await;
        Ok(Self {
            connection: Mutex::new(postgres.connect(database.url()).await?),
            _database: database,
        })
    }
}

/// The floor of a published op.
pub(crate) fn of(postgres: &Postgres, published: Published) -> Floor {
    let postgres = postgres.clone();
    let op = Op::setup(move || Raw::open(postgres.clone(), published.content()));
    let op = op.call(move |raw, _call| async move {
        let connection = &mut *raw.connection.lock().await;
        match published {
            Published::Write => {
                let written = sqlx::query(WRITE)
                    .bind(Uuid::now_v7().to_string())
                    .bind(new_stream("account").as_str().to_owned())
                    .bind(TYPE)
                    .bind(DATA);
                black_box(written.fetch_one(connection).await?);
            }
            Published::Stream => {
                let read = sqlx::query(STREAM).bind("account-0").bind(0_i64);
                black_box(read.fetch_all(connection).await?);
            }
            Published::Category => {
                let read = sqlx::query(CATEGORY).bind("account").bind(1_i64);
                black_box(read.fetch_all(connection).await?);
            }
        }
        Ok(Outcome::Success)
    });
    let (name, what) = match published {
        Published::Write => (
            "sql_write",
            "SELECT write_message(…), prepared, one connection",
        ),
        Published::Stream => (
            "select_10",
            "the same SELECT of 10 rows, prepared, one connection",
        ),
        Published::Category => (
            "select_100",
            "the same SELECT of 100 rows, prepared, one connection",
        ),
    };
    Floor::new(name, what, &op)
}

/// One INSERT of so many messages, each to a new stream, so many times in turn.
pub(crate) fn batch(postgres: &Postgres, messages: usize, turns: usize) -> Floor {
    let postgres = postgres.clone();
    let op = Op::setup(move || Raw::open(postgres.clone(), std::iter::empty()));
    let op = op.call(move |raw, _call| async move {
        let connection = &mut *raw.connection.lock().await;
        for _ in 0..turns {
            let ids: Vec<String> = (0..messages).map(|_| Uuid::now_v7().to_string()).collect();
            let streams: Vec<String> = (0..messages)
                .map(|_| new_stream("account").as_str().to_owned())
                .collect();
            sqlx::query(INSERT_SEVERAL)
                .bind(ids)
                .bind(streams)
                .bind(TYPE)
                .bind(DATA)
                .execute(&mut *connection)
                .await?;
        }
        Ok(Outcome::Success)
    });
    let what = format!("{turns} times one INSERT of {messages} messages into the same table");
    Floor::new(&format!("{turns}_inserts_of_{messages}"), &what, &op)
}

/// So many clients of the SQL interface, each with a connection of its own, that write in turn over
/// so many categories.
pub(crate) fn clients(postgres: &Postgres, clients: usize, categories: u64, turns: usize) -> Op {
    let postgres = postgres.clone();
    let op = Op::setup(move || {
        let postgres = postgres.clone();
        async move {
            let opened = postgres.open().await?;
            let url = opened.store_url.clone();
            let mut connections = Vec::new();
            for _ in 0..clients {
                connections.push(Mutex::new(postgres.connect(&url).await?));
            }
            Ok((connections, opened))
        }
    });
    op.call(move |state, call| async move {
        let connection = &mut *state.0[call.worker].lock().await;
        for turn in 0..turns as u64 {
            let category = (call.index() * turns as u64 + turn) % categories;
            sqlx::query(WRITE)
                .bind(Uuid::now_v7().to_string())
                .bind(
                    new_stream(&format!("account{category}"))
                        .as_str()
                        .to_owned(),
                )
                .bind(TYPE)
                .bind(DATA)
                .execute(&mut *connection)
                .await?;
        }
        Ok(Outcome::Success)
    })
}
