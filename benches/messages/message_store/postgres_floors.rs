//! The bare sqlx on the store's schema: prepared statements, one connection, fetched rows.

use super::Published;
use super::backends::{Backend as _, Opened, Postgres};
use super::ops::{DATA, TYPE, new_stream};
use bench::{BoxError, Floor, Op, Outcome};
use local_postgres::Database;
use message_store::postgres::{Config, PostgresStore};
use message_store::{ExpectedVersion, Message, MessageStore as _, StreamName};
use sqlx::PgConnection;
use std::hint::black_box;
use tokio::sync::Mutex;
use uuid::Uuid;

/// The statement of a client of the SQL interface.
const WRITE: &str = "SELECT message_store.write_message($1, $2, $3, $4::text::jsonb)";
const PLAIN_WRITE: &str = "SELECT plain_write($1, $2, $3, $4::text::jsonb)";
const PLAIN_FUNCTION: &str = "\
    CREATE FUNCTION plain_write(id varchar, stream varchar, type varchar, data jsonb) \
    RETURNS bigint LANGUAGE plpgsql AS $$ \
    DECLARE new_position bigint; \
    BEGIN \
        PERFORM pg_advisory_xact_lock(message_store.hash_64(message_store.category(stream))); \
        new_position := coalesce((SELECT m.position FROM message_store.messages m \
            WHERE m.stream_name = stream ORDER BY m.position DESC LIMIT 1), -1) + 1; \
        INSERT INTO message_store.messages (id, stream_name, position, type, data) \
        VALUES (plain_write.id::uuid, stream, new_position, plain_write.type, plain_write.data); \
        RETURN new_position; \
    END $$";
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
pub(crate) fn published(postgres: &Postgres, published: Published) -> Floor {
    let op = Op::given(postgres, move |postgres| {
        Raw::open(postgres, published.content())
    });
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

/// `turns` INSERTs of `messages` messages each, every message to a new stream.
pub(crate) fn batch(postgres: &Postgres, messages: usize, turns: usize) -> Floor {
    // The table starts empty, like the row's.
    let op = Op::given(postgres, |postgres| Raw::open(postgres, std::iter::empty()));
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

/// Clients of the SQL interface, each on a separate connection, that write to `categories`
/// categories.
#[derive(Clone)]
pub(crate) struct Clients {
    pub(crate) postgres: Postgres,
    pub(crate) clients: usize,
    pub(crate) categories: u64,
    pub(crate) turns: usize,
}

impl Clients {
    /// The clients call `write_message`.
    pub(crate) fn op(&self) -> Op {
        self.calling(WRITE)
    }

    /// The clients call a function that does the same as Message DB's and nothing else.
    pub(crate) fn floor(&self) -> Floor {
        let Self {
            clients,
            categories,
            turns,
            ..
        } = self;
        let what = format!(
            "{clients} clients, {turns} times a function that locks the category, one of \
             {categories}, looks the version up and inserts"
        );
        let name = format!("{clients}x{turns}_plain_writes_in_{categories}");
        Floor::new(&name, &what, &self.calling(PLAIN_WRITE)).concurrency(*clients)
    }

    fn calling(&self, write: &'static str) -> Op {
        let op = Op::given(self, Self::connect);
        let Self {
            categories, turns, ..
        } = *self;
        op.call(move |state, call| async move {
            let connection = &mut *state.0[call.worker].lock().await;
            for turn in 0..turns as u64 {
                let category = (call.index() * turns as u64 + turn) % categories;
                sqlx::query(write)
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

    async fn connect(self) -> Result<(Vec<Mutex<PgConnection>>, Opened<PostgresStore>), BoxError> {
        let opened = self.postgres.open().await?;
        let url = &opened.store_url;
        let mut connections = Vec::new();
        for _ in 0..self.clients {
            connections.push(Mutex::new(self.postgres.connect(url).await?));
        }
        // The function exists once per database, so any of the connections can create it.
        let first = connections[0].get_mut();
        sqlx::raw_sql(PLAIN_FUNCTION).execute(first).await?;
        Ok((connections, opened))
    }
}
