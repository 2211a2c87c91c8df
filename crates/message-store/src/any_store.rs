use store_fault::StoreUrl;

use crate::forward::forward_message_store;
use crate::text::invalid;
use crate::{Error, MessageStore, Namespace, NamespaceName, Namespaces, Stats};

#[cfg(feature = "postgres")]
use crate::postgres::{self, PostgresNamespaces, PostgresStore};
#[cfg(feature = "sqlite")]
use crate::sqlite::{self, SqliteNamespaces, SqliteStore};

/// A store on any compiled backend, so that a program can choose it at run time.
///
/// ```
/// # use message_store::{AnyStore, Error, ExpectedVersion, Message, MessageStore, StreamName};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Error> {
/// let url = std::env::var("MESSAGES").unwrap_or("memory:".to_owned());
/// let store = AnyStore::open(&url).await?;
/// let opened = Message::builder("Opened").build()?;
/// store.write_message(&StreamName::new("account-1")?, opened, ExpectedVersion::Any).await?;
/// # Ok(()) }
/// ```
///
/// For a configuration that a URL does not express, open the backend and wrap it:
/// `AnyStore::Sqlite(store)`.
// An enum, because `MessageStore` returns `impl Future` and can't be a trait object.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyStore {
    /// A file, or memory.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteStore),
    /// A schema of a database.
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl AnyStore {
    /// Opens the store at a URL, with the backend's default configuration:
    ///
    /// | URL | Store |
    /// |---|---|
    /// | `memory:`, `sqlite::memory:` | SQLite in memory |
    /// | `sqlite:messages.db`, or a path without a colon | that SQLite file |
    /// | `postgres://user:password@host/database` | PostgreSQL |
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` for any other URL; [`Fault::FeatureDisabled`](crate::Fault)
    /// if the backend is not compiled in; the errors of `SqliteStore::open` or
    /// `PostgresStore::connect`.
    pub async fn open(url: &str) -> Result<Self, Error> {
        match Location::parse(url)? {
            #[cfg(feature = "sqlite")]
            Location::Sqlite(config) => SqliteStore::open(config).await.map(Self::Sqlite),
            #[cfg(feature = "postgres")]
            Location::Postgres(config) => PostgresStore::connect(config).await.map(Self::Postgres),
        }
    }
}

impl MessageStore for AnyStore {
    fn for_follower(self) -> Self {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(store) => Self::Sqlite(store.for_follower()),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Self::Postgres(store.for_follower()),
        }
    }

    forward_message_store!(self {
        #[cfg(feature = "sqlite")]
        Self::Sqlite(store) => store,
        #[cfg(feature = "postgres")]
        Self::Postgres(store) => store,
    });
}

/// Namespaces on any compiled backend.
#[non_exhaustive]
pub enum AnyNamespaces {
    /// A folder with a file per namespace, or memory.
    #[cfg(feature = "sqlite")]
    Sqlite(SqliteNamespaces),
    /// A schema per namespace in one database.
    // Boxed, because it is much larger than the other variant.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresNamespaces>),
}

impl AnyNamespaces {
    /// Opens the namespaces at a URL of the same form as for [`AnyStore::open`]. A path is a folder.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` for any other URL; [`Fault::FeatureDisabled`](crate::Fault)
    /// if the backend is not compiled in; the errors of `SqliteNamespaces::new` or
    /// `PostgresNamespaces::connect`.
    pub async fn open(url: &str) -> Result<Self, Error> {
        match Location::parse(url)? {
            #[cfg(feature = "sqlite")]
            Location::Sqlite(config) => SqliteNamespaces::new(config).map(Self::Sqlite),
            #[cfg(feature = "postgres")]
            Location::Postgres(config) => {
                let namespaces = PostgresNamespaces::connect(config).await?;
                Ok(Self::Postgres(Box::new(namespaces)))
            }
        }
    }

    /// Counters over the open namespaces. `None` while PostgreSQL opens or deletes a namespace,
    /// because that holds the lock of the list.
    pub fn stats(&self) -> Option<Stats> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(namespaces) => Some(namespaces.stats()),
            #[cfg(feature = "postgres")]
            Self::Postgres(namespaces) => namespaces.stats(),
        }
    }
}

macro_rules! forward_namespaces {
    ($($name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> $output {
            match self {
                #[cfg(feature = "sqlite")]
                Self::Sqlite(namespaces) => namespaces.$name($($argument),*).await,
                #[cfg(feature = "postgres")]
                Self::Postgres(namespaces) => namespaces.$name($($argument),*).await,
            }
        })*
    };
}

impl Namespaces for AnyNamespaces {
    type Store = AnyStore;

    forward_namespaces! {
        create(name: &NamespaceName, attributes: Option<&str>) -> Result<Namespace, Error>;
        get(name: &NamespaceName) -> Result<Namespace, Error>;
        list() -> Result<Vec<Namespace>, Error>;
        delete(name: &NamespaceName) -> Result<u64, Error>;
        close() -> ();
    }

    async fn open(&self, name: &NamespaceName) -> Result<AnyStore, Error> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(namespaces) => namespaces.open(name).await.map(AnyStore::Sqlite),
            #[cfg(feature = "postgres")]
            Self::Postgres(namespaces) => namespaces.open(name).await.map(AnyStore::Postgres),
        }
    }
}

/// The backend and the configuration that a URL names.
enum Location {
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::Config),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Config),
}

impl Location {
    fn parse(url: &str) -> Result<Self, Error> {
        match StoreUrl::parse(url).map_err(invalid("url"))? {
            #[cfg(feature = "sqlite")]
            StoreUrl::Memory | StoreUrl::SqliteInMemory => {
                Ok(Self::Sqlite(sqlite::Config::memory()))
            }
            #[cfg(feature = "sqlite")]
            StoreUrl::File(path) => Ok(Self::Sqlite(sqlite::Config::file(path))),
            #[cfg(feature = "postgres")]
            StoreUrl::Postgres(url) => Ok(Self::Postgres(postgres::Config::new(url))),
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            other => Err(other.not_compiled().into()),
        }
    }
}
