use store_fault::StoreUrl;

use crate::text::invalid;
use crate::{Error, EventStore, MemoryStore};

#[cfg(feature = "postgres")]
use crate::postgres::{self, PostgresStore};
#[cfg(feature = "sqlite")]
use crate::sqlite::{self, SqliteStore};

/// A store on any compiled backend, so that a program can choose it at run time.
///
/// ```
/// # use dcb_core::{AnyStore, Error, Event, EventStore};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Error> {
/// let url = std::env::var("EVENTS").unwrap_or("memory:".to_owned());
/// let store = AnyStore::open(&url).await?;
/// store.append(Event::builder("CourseOffered").tag("course_id:c1").build()?).await?;
/// # Ok(()) }
/// ```
///
/// For a configuration that a URL does not express, open the backend and wrap it:
/// `AnyStore::Sqlite(store)`.
// An enum, because `EventStore` returns `impl Future` and can't be a trait object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyStore {
    /// A list in memory, for tests.
    Memory(MemoryStore),
    /// A file, or SQLite in memory.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteStore),
    /// A schema of a database.
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl AnyStore {
    /// Opens the log at a URL, with the backend's default configuration:
    ///
    /// | URL | Store |
    /// |---|---|
    /// | `memory:` | [`MemoryStore`] |
    /// | `sqlite::memory:` | SQLite in memory |
    /// | `sqlite:events.db`, or a path without a colon | that SQLite file |
    /// | `postgres://user:password@host/database` | PostgreSQL |
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` for any other URL; [`Fault::FeatureDisabled`](crate::Fault)
    /// if the backend is not compiled in; the errors of `SqliteStore::open` or
    /// `PostgresStore::connect`.
    pub async fn open(url: &str) -> Result<Self, Error> {
        match StoreUrl::parse(url).map_err(invalid("url"))? {
            StoreUrl::Memory => Ok(Self::Memory(MemoryStore::new())),
            #[cfg(feature = "sqlite")]
            StoreUrl::SqliteInMemory => Self::open_sqlite(sqlite::Config::memory()).await,
            #[cfg(feature = "sqlite")]
            StoreUrl::File(path) => Self::open_sqlite(sqlite::Config::file(path)).await,
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => {
                let connected = PostgresStore::connect(postgres::Config::new(url)).await;
                connected.map(Self::Postgres)
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            other => Err(other.not_compiled().into()),
        }
    }

    #[cfg(feature = "sqlite")]
    async fn open_sqlite(config: sqlite::Config) -> Result<Self, Error> {
        SqliteStore::open(config).await.map(Self::Sqlite)
    }

    /// Deletes all events, tracked positions and commands, for tests and demonstrations. See the
    /// backend's `clear`.
    ///
    /// # Errors
    /// The errors of the backend's `clear`. A log in memory has none.
    pub async fn clear(&self) -> Result<(), Error> {
        match self {
            Self::Memory(store) => store.clear(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(store) => store.clear().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.clear().await,
        }
    }
}

impl EventStore for AnyStore {
    fn for_follower(self) -> Self {
        #[cfg(feature = "postgres")]
        if let Self::Postgres(store) = self {
            return Self::Postgres(store.for_follower());
        }
        self
    }

    crate::forward_event_store! { self {
        Self::Memory(store) => store,
        #[cfg(feature = "sqlite")]
        Self::Sqlite(store) => store,
        #[cfg(feature = "postgres")]
        Self::Postgres(store) => store,
    } }
}
