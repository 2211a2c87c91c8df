use crate::{Error, EventStore, MemoryStore, Problem};

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
        match url.split_once(':').unwrap_or(("sqlite", url)) {
            ("memory", "") => Ok(Self::Memory(MemoryStore::new())),
            // A `?` would begin parameters, which would otherwise become a part of the file's name.
            ("sqlite", path) if !path.is_empty() && !path.contains('?') => sqlite(path).await,
            ("postgres" | "postgresql", _) => postgres(url).await,
            _ => Err(Error::Invalid {
                field: "url".to_owned(),
                problem: Problem::Malformed {
                    reason: "expected memory:, sqlite:path, a path or postgres://".to_owned(),
                },
            }),
        }
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
    crate::forward_event_store! { self {
        Self::Memory(store) => store,
        #[cfg(feature = "sqlite")]
        Self::Sqlite(store) => store,
        #[cfg(feature = "postgres")]
        Self::Postgres(store) => store,
    } }
}

#[cfg(feature = "sqlite")]
async fn sqlite(path: &str) -> Result<AnyStore, Error> {
    let config = match path.strip_prefix("//").unwrap_or(path) {
        ":memory:" => sqlite::Config::memory(),
        path => sqlite::Config::file(path),
    };
    SqliteStore::open(config).await.map(AnyStore::Sqlite)
}

#[cfg(not(feature = "sqlite"))]
async fn sqlite(_: &str) -> Result<AnyStore, Error> {
    Err(crate::Fault::FeatureDisabled { feature: "sqlite" }.into())
}

#[cfg(feature = "postgres")]
async fn postgres(url: &str) -> Result<AnyStore, Error> {
    let store = PostgresStore::connect(postgres::Config::new(url)).await?;
    Ok(AnyStore::Postgres(store))
}

#[cfg(not(feature = "postgres"))]
async fn postgres(_: &str) -> Result<AnyStore, Error> {
    Err(crate::Fault::FeatureDisabled {
        feature: "postgres",
    }
    .into())
}
