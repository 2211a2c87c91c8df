//! The stores that rows are about, each opened anew and empty.

use bench::{BoxError, Row, Target};
use local_postgres::{Database, LocalPostgres, Options};
use message_store::MessageStore;
use message_store::postgres::{self, PostgresStore};
use message_store::sqlite::{self, Durability, SqliteStore};
use std::any::Any;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A store, and what must outlive it.
pub(crate) struct Opened<S> {
    pub(crate) store: S,
    /// Where it is, empty for a file.
    pub(crate) store_url: String,
    pub(crate) _place: Box<dyn Any + Send + Sync>,
}

pub(crate) trait Backend: Clone + Send + Sync + 'static {
    type Store: MessageStore + Clone;

    /// As the published page names it.
    fn label(&self) -> &'static str;

    /// Names a row of one of its APIs.
    fn name(&self, row: Row, api: Option<&str>) -> Row;

    /// An empty store.
    fn open(&self) -> impl Future<Output = Result<Opened<Self::Store>, BoxError>> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sqlite {
    /// `None` in memory.
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

    /// What the driver is told where it writes alone.
    pub(crate) fn synchronous(self) -> &'static str {
        match self.durability {
            Some(Durability::Full) => "FULL",
            _ => "NORMAL",
        }
    }

    /// A folder, and the file in it where there is one.
    pub(crate) fn place(self) -> Result<(TempDir, Option<PathBuf>), BoxError> {
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
        let normal = (self.durability == Some(Durability::Normal)).then_some("NORMAL");
        let parts: Vec<&str> = normal.into_iter().chain(api).collect();
        if parts.is_empty() {
            row
        } else {
            row.variant(parts.join(", "))
        }
    }

    async fn open(&self) -> Result<Opened<SqliteStore>, BoxError> {
        let (folder, file) = self.place()?;
        Ok(Opened {
            store: SqliteStore::open(self.config(file)).await?,
            store_url: String::new(),
            _place: Box::new(folder),
        })
    }
}

/// A durable server with the defaults of `initdb`.
#[derive(Clone)]
pub(crate) struct Postgres {
    server: Arc<LocalPostgres>,
}

impl Postgres {
    pub(crate) fn start(target: &mut Target) -> Result<Self, BoxError> {
        const SETTINGS: [&str; 5] = [
            "fsync",
            "synchronous_commit",
            "full_page_writes",
            "wal_sync_method",
            "shared_buffers",
        ];
        let server =
            target.block_on(async { Ok(LocalPostgres::start(Options::default()).await?) })?;
        let this = Self {
            server: Arc::new(server),
        };
        target.keep(Arc::clone(&this.server));
        let settings = target.block_on(async {
            let mut connection = this.connect(this.server.url()).await?;
            let mut settings = Vec::new();
            for name in SETTINGS {
                let value: String = sqlx::query_scalar("SELECT current_setting($1)")
                    .bind(name)
                    .fetch_one(&mut connection)
                    .await?;
                settings.push(format!("{name} = {value}"));
            }
            Ok(settings.join(", "))
        })?;
        let facts = target.facts();
        facts.set("PostgreSQL", this.server.version());
        facts.set("Settings of PostgreSQL", settings);
        facts.set(
            "Connections",
            "TCP over the loopback interface, for the store and for its floors",
        );
        Ok(this)
    }

    pub(crate) async fn database(&self) -> Result<Database, BoxError> {
        Ok(self.server.create_database("row").await?)
    }

    /// A session with the planner's settings of the store's own.
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
            // There is no other.
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
            _place: Box::new(database),
        })
    }
}
