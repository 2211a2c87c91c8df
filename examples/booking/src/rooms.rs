//! The read model: the guest in each room, night by night. It is kept in PostgreSQL if the events are
//! there, and otherwise in SQLite.

use std::sync::{Arc, Mutex, PoisonError};

use dcb_core::{AnyStore, HandlerError, ProjectionRunner, Query, SequencedEvent};
use dcb_core::{postgres, sqlite};
use rusqlite::Connection;
use serde::Serialize;
use sqlx::PgPool;
use uuid::Uuid;

use crate::AnyError;
use crate::booking::{BOOKED, RoomBooked};
use crate::payment::PAID;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS stay (booking text PRIMARY KEY, room bigint, \
     night text, guest text, invoice bigint, paid boolean NOT NULL DEFAULT false)";
const BOOK: &str = "INSERT INTO stay (booking, room, night, guest, invoice) \
     VALUES ($1, $2, $3, $4, $5)";
const PAY: &str = "UPDATE stay SET paid = true WHERE booking = $1";
const STAYS: &str = "SELECT night, guest, invoice, paid FROM stay WHERE room = $1 ORDER BY night";

/// A night of a room.
#[derive(Debug, Serialize, sqlx::FromRow)]
pub struct Stay {
    pub night: String,
    pub guest: String,
    pub invoice: i64,
    pub paid: bool,
}

/// The tables, for reads.
#[derive(Clone)]
pub enum Rooms {
    Postgres(String, PgPool),
    Sqlite(Arc<Mutex<Connection>>),
}

/// The change that an event makes. Both handlers share it.
enum Change {
    Book(RoomBooked),
    Pay(Uuid),
}

impl Change {
    fn of(event: &SequencedEvent) -> Result<Self, HandlerError> {
        Ok(match event.event_type() {
            PAID => Self::Pay(event.json()?),
            _ => Self::Book(event.json()?),
        })
    }
}

struct Tables;

impl postgres::Handler for Tables {
    async fn handle(
        &mut self,
        transaction: &mut postgres::PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        for event in events {
            let statement = match Change::of(event)? {
                Change::Pay(id) => sqlx::query(PAY).bind(id.to_string()),
                Change::Book(RoomBooked { booking, invoice }) => sqlx::query(BOOK)
                    .bind(booking.id.to_string())
                    .bind(i64::from(booking.room))
                    .bind(booking.night)
                    .bind(booking.guest)
                    .bind(invoice.cast_signed()),
            };
            statement.execute(&mut *transaction).await?;
        }
        Ok(())
    }

    async fn reset(
        &mut self,
        transaction: &mut postgres::PgConnection,
    ) -> Result<(), HandlerError> {
        sqlx::query("TRUNCATE stay").execute(transaction).await?;
        Ok(())
    }
}

impl sqlite::Handler for Tables {
    fn handle(
        &mut self,
        transaction: &sqlite::Transaction<'_>,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        for event in events {
            match Change::of(event)? {
                Change::Pay(id) => transaction.execute(PAY, [id.to_string()])?,
                Change::Book(RoomBooked {
                    booking: b,
                    invoice,
                }) => {
                    let (id, invoice) = (b.id.to_string(), invoice.cast_signed());
                    transaction.execute(BOOK, (id, b.room, b.night, b.guest, invoice))?
                }
            };
        }
        Ok(())
    }

    fn reset(&mut self, transaction: &sqlite::Transaction<'_>) -> Result<(), HandlerError> {
        transaction.execute("DELETE FROM stay", [])?;
        Ok(())
    }
}

impl Rooms {
    pub async fn open(place: &str) -> Result<Self, AnyError> {
        if place.contains("://") {
            let pool = PgPool::connect(place).await?;
            sqlx::query(TABLE).execute(&pool).await?;
            return Ok(Self::Postgres(place.to_owned(), pool));
        }
        let connection = match place {
            "memory:" => Connection::open_in_memory()?,
            file => Connection::open(file)?,
        };
        connection.execute_batch(TABLE)?;
        Ok(Self::Sqlite(Arc::new(Mutex::new(connection))))
    }

    /// Keeps the tables up to date, without end.
    pub async fn follow(self, events: AnyStore) -> Result<(), AnyError> {
        let changes = Query::builder().event_types([BOOKED, PAID]).build()?;
        match self {
            Self::Postgres(url, _) => {
                let config = postgres::Config::new(url);
                let model = postgres::PostgresReadModel::new(&config, "rooms", Tables)?;
                match ProjectionRunner::new(events, changes, model).run().await? {}
            }
            Self::Sqlite(connection) => {
                let model = sqlite::SqliteReadModel::on_connection(connection, "rooms", Tables)?;
                match ProjectionRunner::new(events, changes, model).run().await? {}
            }
        }
    }

    pub async fn stays(&self, room: u32) -> Result<Vec<Stay>, AnyError> {
        match self {
            Self::Postgres(_, pool) => {
                let stays = sqlx::query_as(STAYS).bind(i64::from(room));
                Ok(stays.fetch_all(pool).await?)
            }
            // A short read. One that takes long belongs on a thread that may block.
            Self::Sqlite(connection) => {
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                let mut statement = connection.prepare_cached(STAYS)?;
                let stays = statement.query_map([room], |row| {
                    let (night, guest) = (row.get(0)?, row.get(1)?);
                    let (invoice, paid) = (row.get(2)?, row.get(3)?);
                    Ok(Stay {
                        night,
                        guest,
                        invoice,
                        paid,
                    })
                })?;
                Ok(stays.collect::<Result<_, _>>()?)
            }
        }
    }
}
