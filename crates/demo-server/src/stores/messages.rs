use std::path::Path;
use std::time::SystemTime;

use message_store::postgres::{self, PostgresNamespaces, PostgresStore};
use message_store::sqlite::{self, SqliteNamespaces, SqliteStore};
use message_store::{
    Category, CategoryInfo, CategoryRead, Error, ExpectedVersion, GlobalPosition, Health,
    ListStreams, Message, MessageStore, Namespace, NamespaceName, Namespaces, Notifications,
    Position, RecordedMessage, Stats, StoreInfo, StreamInfo, StreamName, StreamRead, StreamWrite,
    Written,
};

/// The namespaces of messages on either backend.
pub(crate) enum MessageNamespaces {
    Sqlite(SqliteNamespaces),
    // Boxed, because it is much larger than the other variant.
    Postgres(Box<PostgresNamespaces>),
}

/// The messages of one namespace on either backend.
#[derive(Clone)]
pub(crate) enum Messages {
    Sqlite(SqliteStore),
    Postgres(PostgresStore),
}

impl MessageNamespaces {
    pub(super) fn in_sqlite(folder: Option<&Path>) -> Result<Self, Error> {
        let config = match folder {
            Some(folder) => sqlite::Config::file(folder.join("messages")),
            None => sqlite::Config::memory(),
        };
        SqliteNamespaces::new(config).map(Self::Sqlite)
    }

    pub(super) async fn in_postgres(url: &str) -> Result<Self, Error> {
        let namespaces = PostgresNamespaces::connect(postgres::Config::new(url)).await?;
        Ok(Self::Postgres(Box::new(namespaces)))
    }

    /// Counts over the open namespaces. `None` while a namespace is being opened or deleted,
    /// because that holds the lock of the list.
    pub(crate) fn stats(&self) -> Option<Stats> {
        match self {
            Self::Sqlite(namespaces) => Some(namespaces.stats()),
            Self::Postgres(namespaces) => namespaces.stats(),
        }
    }

    /// The backend's name in `sys.health`.
    pub(crate) fn backend(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
        }
    }
}

impl Namespaces for MessageNamespaces {
    type Store = Messages;

    async fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> Result<Namespace, Error> {
        match self {
            Self::Sqlite(namespaces) => namespaces.create(name, attributes).await,
            Self::Postgres(namespaces) => namespaces.create(name, attributes).await,
        }
    }

    async fn open(&self, name: &NamespaceName) -> Result<Messages, Error> {
        match self {
            Self::Sqlite(namespaces) => namespaces.open(name).await.map(Messages::Sqlite),
            Self::Postgres(namespaces) => namespaces.open(name).await.map(Messages::Postgres),
        }
    }

    async fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        match self {
            Self::Sqlite(namespaces) => namespaces.get(name).await,
            Self::Postgres(namespaces) => namespaces.get(name).await,
        }
    }

    async fn list(&self) -> Result<Vec<Namespace>, Error> {
        match self {
            Self::Sqlite(namespaces) => namespaces.list().await,
            Self::Postgres(namespaces) => namespaces.list().await,
        }
    }

    async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        match self {
            Self::Sqlite(namespaces) => namespaces.delete(name).await,
            Self::Postgres(namespaces) => namespaces.delete(name).await,
        }
    }

    async fn close(&self) {
        match self {
            Self::Sqlite(namespaces) => namespaces.close().await,
            Self::Postgres(namespaces) => namespaces.close().await,
        }
    }
}

macro_rules! forward {
    ($(async $name:ident($($argument:ident: $type:ty),*) -> $output:ty;)*) => {
        $(async fn $name(&self, $($argument: $type),*) -> $output {
            match self {
                Self::Sqlite(store) => store.$name($($argument),*).await,
                Self::Postgres(store) => store.$name($($argument),*).await,
            }
        })*
    };
}

impl MessageStore for Messages {
    forward! {
        async write_streams(writes: Vec<StreamWrite>) -> Result<Vec<Vec<Written>>, Error>;
        async write_batch(stream: &StreamName, messages: Vec<Message>, expected_version: ExpectedVersion) -> Result<Vec<Written>, Error>;
        async write_message(stream: &StreamName, message: Message, expected_version: ExpectedVersion) -> Result<Written, Error>;
        async import_messages(messages: Vec<RecordedMessage>) -> Result<u64, Error>;
        async get_stream_messages(stream: &StreamName, read: StreamRead) -> Result<Vec<RecordedMessage>, Error>;
        async get_category_messages(category: &Category, read: CategoryRead) -> Result<Vec<RecordedMessage>, Error>;
        async get_last_stream_message(stream: &StreamName, message_type: Option<&str>) -> Result<Option<RecordedMessage>, Error>;
        async stream_version(stream: &StreamName) -> Result<Option<Position>, Error>;
        async head() -> Result<Option<GlobalPosition>, Error>;
        async list_streams(list: ListStreams) -> Result<Vec<StreamInfo>, Error>;
        async list_categories() -> Result<Vec<CategoryInfo>, Error>;
        async info() -> Result<StoreInfo, Error>;
        async truncate_stream(stream: &StreamName, before: Position) -> Result<u64, Error>;
        async expire_messages(category: &Category, before: SystemTime) -> Result<u64, Error>;
        async checkpoint(consumer: &str) -> Result<Option<GlobalPosition>, Error>;
        async save_checkpoint(consumer: &str, position: GlobalPosition) -> Result<GlobalPosition, Error>;
        async delete_checkpoint(consumer: &str) -> Result<bool, Error>;
        async health() -> Result<Health, Error>;
        async close() -> ();
    }

    fn notifications(&self) -> Notifications {
        match self {
            Self::Sqlite(store) => store.notifications(),
            Self::Postgres(store) => store.notifications(),
        }
    }

    fn stats(&self) -> Stats {
        match self {
            Self::Sqlite(store) => store.stats(),
            Self::Postgres(store) => store.stats(),
        }
    }
}
