//! The read model: the guest in each room, night by night. It is kept in PostgreSQL if the events are
//! there, and otherwise in SQLite.
//!
//! The table has the version of the read model in its name, and readers use a view. To change the table,
//! raise [`VERSION`] and start the new program beside the old one, or after it: it builds its table from the
//! start of the log, while the old program keeps its own up to date. Then the view changes over.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dcb_core::{AnyStore, Error, HandlerError, Query, SequencedEvent};
use dcb_core::{SliceKey, SliceOptions, SlicedModel, SlicedRunner};
use dcb_core::{postgres, sqlite};
use rusqlite::Connection;
use serde::Serialize;
use sqlx::{AssertSqlSafe, PgPool};
use uuid::Uuid;

use crate::AnyError;
use crate::booking::{BOOKED, RoomBooked};
use crate::payment::PAID;

/// The version of the tables that this program keeps.
pub const VERSION: u32 = 1;
/// A rebuild may take this long.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS @stay (booking text PRIMARY KEY, room bigint, \
     night text, guest text, invoice bigint, paid boolean NOT NULL DEFAULT false)";
const BOOK: &str = "INSERT INTO @stay (booking, room, night, guest, invoice) \
     VALUES ($1, $2, $3, $4, $5)";
const PAY: &str = "UPDATE @stay SET paid = true WHERE booking = $1";
const EMPTY: &str = "DELETE FROM @stay";
const SHOW: [&str; 2] = [
    "DROP VIEW IF EXISTS stay",
    "CREATE VIEW stay AS SELECT * FROM @stay",
];
const STAYS: &str = "SELECT night, guest, invoice, paid FROM stay WHERE room = $1 ORDER BY night";

/// A night of a room.
#[derive(Debug, Serialize, sqlx::FromRow)]
pub struct Stay {
    pub night: String,
    pub guest: String,
    pub invoice: i64,
    pub paid: bool,
}

/// A version of the tables.
#[derive(Clone)]
pub struct Rooms {
    place: Place,
    tables: Tables,
}

#[derive(Clone)]
enum Place {
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

/// The events of a booking keep their order: it is booked, then paid.
fn booking() -> SliceKey {
    SliceKey::by(|event| match event.event_type() {
        PAID => event.tag_value("booking").map(str::to_owned),
        _ => Some(event.id().to_string()),
    })
}

#[derive(Clone, Copy)]
pub struct Tables {
    pub version: u32,
}

impl Tables {
    fn sql(self, text: &str) -> String {
        text.replace("@stay", &format!("stay_{}", self.version))
    }

    /// Safe, because only the number of the version is inserted.
    fn query(self, text: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(self.sql(text))
    }
}

impl postgres::Handler for Tables {
    async fn handle(
        &mut self,
        transaction: &mut postgres::PgConnection,
        events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        for event in events {
            let statement = match Change::of(event)? {
                Change::Pay(id) => sqlx::query(self.query(PAY)).bind(id.to_string()),
                Change::Book(RoomBooked { booking, invoice }) => sqlx::query(self.query(BOOK))
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

    async fn make_current(
        &mut self,
        transaction: &mut postgres::PgConnection,
    ) -> Result<(), HandlerError> {
        for sql in SHOW {
            let show = sqlx::query(self.query(sql));
            show.execute(&mut *transaction).await?;
        }
        Ok(())
    }

    async fn reset(
        &mut self,
        transaction: &mut postgres::PgConnection,
    ) -> Result<(), HandlerError> {
        sqlx::query(self.query(EMPTY)).execute(transaction).await?;
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
                Change::Pay(id) => transaction.execute(&self.sql(PAY), [id.to_string()])?,
                Change::Book(RoomBooked {
                    booking: b,
                    invoice,
                }) => {
                    let (id, invoice) = (b.id.to_string(), invoice.cast_signed());
                    let row = (id, b.room, b.night, b.guest, invoice);
                    transaction.execute(&self.sql(BOOK), row)?
                }
            };
        }
        Ok(())
    }

    fn make_current(&mut self, transaction: &sqlite::Transaction<'_>) -> Result<(), HandlerError> {
        for sql in SHOW {
            transaction.execute(&self.sql(sql), [])?;
        }
        Ok(())
    }

    fn reset(&mut self, transaction: &sqlite::Transaction<'_>) -> Result<(), HandlerError> {
        transaction.execute(&self.sql(EMPTY), [])?;
        Ok(())
    }
}

impl Rooms {
    /// Opens a version of the tables, and creates its table.
    pub async fn open(place: &str, version: u32) -> Result<Self, AnyError> {
        let tables = Tables { version };
        if place.contains("://") {
            let pool = PgPool::connect(place).await?;
            sqlx::query(tables.query(TABLE)).execute(&pool).await?;
            let place = Place::Postgres(place.to_owned(), pool);
            return Ok(Self { place, tables });
        }
        let connection = match place {
            "memory:" => Connection::open_in_memory()?,
            file => Connection::open(file)?,
        };
        connection.execute_batch(&tables.sql(TABLE))?;
        let place = Place::Sqlite(Arc::new(Mutex::new(connection)));
        Ok(Self { place, tables })
    }

    /// Keeps the tables up to date, without end, and shows them to readers as soon as they are complete.
    pub async fn follow(self, events: AnyStore) -> Result<(), AnyError> {
        let (tables, version) = (self.tables, self.tables.version);
        match self.place {
            Place::Postgres(url, _) => {
                let config = postgres::Config::new(url);
                let model = postgres::SlicedReadModel::new(&config, "rooms", version, tables)?;
                let mut shown = model.clone();
                work(events, model, shown.take_over(PATIENCE)).await
            }
            Place::Sqlite(connection) => {
                let model =
                    sqlite::SlicedReadModel::on_connection(connection, "rooms", version, tables)?;
                let mut shown = model.clone();
                work(events, model, shown.take_over(PATIENCE)).await
            }
        }
    }

    pub async fn stays(&self, room: u32) -> Result<Vec<Stay>, AnyError> {
        match &self.place {
            Place::Postgres(_, pool) => {
                let stays = sqlx::query_as(STAYS).bind(i64::from(room));
                Ok(stays.fetch_all(pool).await?)
            }
            // A short read. One that takes long belongs on a thread that may block.
            Place::Sqlite(connection) => {
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

/// A member of the read model. A later version that takes over does not end the program, which goes on
/// to read the view.
async fn work(
    events: AnyStore,
    model: impl SlicedModel,
    shown: impl Future<Output = Result<(), Error>>,
) -> Result<(), AnyError> {
    let changes = Query::builder().event_types([BOOKED, PAID]).build()?;
    let mut member = SlicedRunner::new(events, changes, booking(), model)
        .options(SliceOptions::new().slices(16).workers(2));
    match tokio::try_join!(member.run(), shown) {
        Ok((never, ())) => match never {},
        Err(Error::Superseded { version, .. }) => {
            tracing::info!(version, "a later version of the read model has taken over");
            std::future::pending().await
        }
        Err(error) => Err(error.into()),
    }
}
