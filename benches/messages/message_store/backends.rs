//! The stores under measurement. Each row opens an empty one.

use bench::{BoxError, Facts, Row, Target};
use local_postgres::{Database, LocalPostgres, Options};
use message_store::MessageStore;
use message_store::postgres::{self, PostgresStore};
use message_store::sqlite::{self, Durability, SqliteStore};
use std::any::Any;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// A store, and the value that must outlive it.
pub(crate) struct Opened<S> {
    pub(crate) store: S,
    /// The URL of its database; empty for SQLite.
    pub(crate) store_url: String,
    pub(crate) _ground: Box<dyn Any + Send + Sync>,
}

pub(crate) trait Backend: Clone + Send + Sync + 'static {
    type Store: MessageStore + Clone + 'static;

    /// Its name on the published page.
    fn label(&self) -> &'static str;

    /// Adds the name of the API to the row's variant.
    fn name(&self, row: Row, api: Option<&str>) -> Row;

    /// An empty store.
    fn open(&self) -> impl Future<Output = Result<Opened<Self::Store>, BoxError>> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sqlite {
    /// `None` for a store in memory.
    durability: Option<Durability>,
}

impl Sqlite {
    pub(crate) fn memory() -> Self {
        Self { durability: None }
    }

    pub(crate) fn file(durability: Durability) -> Self {
        Self {
            durability: Some(durability),
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        self.durability.is_none()
    }

    /// The `synchronous` setting of the floor's connection.
    pub(crate) fn synchronous(self) -> &'static str {
        match self.durability {
            Some(Durability::Full) => "FULL",
            _ => "NORMAL",
        }
    }

    /// A folder, and the file in it unless the store is in memory.
    pub(crate) fn folder_and_file(self) -> Result<(TempDir, Option<PathBuf>), BoxError> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("messages.db");
        Ok((folder, self.durability.map(|_| file)))
    }

    pub(crate) fn config(self, file: Option<PathBuf>) -> sqlite::Config {
        match (file, self.durability) {
            (Some(file), Some(durability)) => sqlite::Config::file(file).durability(durability),
            _ => sqlite::Config::memory(),
        }
    }
}

impl Backend for Sqlite {
    type Store = SqliteStore;

    fn label(&self) -> &'static str {
        match self.durability {
            None => "SQLite In-Memory",
            Some(_) => "SQLite File",
        }
    }

    fn name(&self, row: Row, api: Option<&str>) -> Row {
        // `FULL` is the default of the store, so only `NORMAL` is a variant.
        let normal = (self.durability == Some(Durability::Normal)).then_some("NORMAL");
        let parts: Vec<&str> = normal.into_iter().chain(api).collect();
        if parts.is_empty() {
            row
        } else {
            row.variant(parts.join(", "))
        }
    }

    async fn open(&self) -> Result<Opened<SqliteStore>, BoxError> {
        let (folder, file) = self.folder_and_file()?;
        Ok(Opened {
            store: SqliteStore::open(self.config(file)).await?,
            store_url: String::new(),
            _ground: Box::new(folder),
        })
    }
}

const VERSION_FACT: &str = "PostgreSQL";
const SETTINGS_FACT: &str = "Settings of PostgreSQL";

/// A durable server with the defaults of `initdb`.
#[derive(Clone)]
pub(crate) struct Postgres {
    server: Arc<OnceCell<Running>>,
    facts: Facts,
}

struct Running {
    server: LocalPostgres,
    settings: String,
}

impl Postgres {
    /// A server that starts when the first row needs it.
    pub(crate) fn new(target: &Target) -> Self {
        let facts = target.facts();
        facts.reserve(VERSION_FACT);
        facts.reserve(SETTINGS_FACT);
        facts.set(
            "Connections",
            "TCP over the loopback interface, for the store and for its floors",
        );
        Self {
            server: Arc::default(),
            facts,
        }
    }

    async fn start(&self) -> Result<Running, BoxError> {
        const SETTINGS: [&str; 5] = [
            "fsync",
            "synchronous_commit",
            "full_page_writes",
            "wal_sync_method",
            "shared_buffers",
        ];
        let server = LocalPostgres::start(Options::default()).await?;
        let mut connection = self.connect(server.url()).await?;
        let mut settings = Vec::new();
        for name in SETTINGS {
            let value: String = sqlx::query_scalar("SELECT current_setting($1)")
                .bind(name)
                .fetch_one(&mut connection)
                .await?;
            settings.push(format!("{name} = {value}"));
        }
        let settings = settings.join(", ");
        Ok(Running { server, settings })
    }

    pub(crate) async fn database(&self) -> Result<Database, BoxError> {
        let running = self.server.get_or_try_init(|| self.start()).await?;
        self.facts.set(VERSION_FACT, running.server.version());
        self.facts.set(SETTINGS_FACT, &running.settings);
        Ok(running.server.create_database("row").await?)
    }

    /// A session with the planner settings of the store's sessions.
    pub(crate) async fn connect(&self, url: &str) -> Result<sqlx::PgConnection, BoxError> {
        use sqlx::ConnectOptions as _;
        let options: sqlx::postgres::PgConnectOptions = url.parse()?;
        let options = options.options([
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("jit", "off"),
        ]);
        Ok(options.disable_statement_logging().connect().await?)
    }
}

impl Backend for Postgres {
    type Store = PostgresStore;

    fn label(&self) -> &'static str {
        "Postgres"
    }

    fn name(&self, row: Row, api: Option<&str>) -> Row {
        match api {
            // PostgreSQL has only the async API.
            None | Some("async") => row,
            Some(api) => row.variant(api),
        }
    }

    async fn open(&self) -> Result<Opened<PostgresStore>, BoxError> {
        let database = self.database().await?;
        let config = postgres::Config::new(database.url());
        Ok(Opened {
            store: PostgresStore::connect(config).await?,
            store_url: database.url().to_owned(),
            _ground: Box::new(database),
        })
    }
}
