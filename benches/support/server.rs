//! The PostgreSQL servers of a bench program: the local one, and Docker's for comparison.

use super::content::{self, Content};
use super::raw;
use super::size::Size;
use bench::{BoxError, Facts, Target, Unavailable};
use course_enrollment::DatasetSize;
use local_postgres::{Database, LocalPostgres, Options, Source};
use sqlx::Connection as _;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Mutex, OnceCell};

/// Settings that the pages print, as the server reports them.
const SETTINGS: [&str; 8] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "shared_buffers",
    "max_wal_size",
    "min_wal_size",
    "max_connections",
];

/// The server is durable and has the defaults of `initdb`, except for `max_connections` and these.
///
/// Copying a log writes a lot of WAL. With the default `max_wal_size` a checkpoint starts between
/// the copy for a row and the copy for its floor; after a checkpoint the first change of each page
/// costs more, and only one side would pay for it. `min_wal_size` is the size of the files that
/// [`Started::prefill_wal`] makes, so the server keeps them.
const WAL: [(&str, &str); 2] = [("max_wal_size", "4GB"), ("min_wal_size", "2GB")];

const STORAGE: &str = "Storage of the tables";

/// The servers of a bench program. A server starts when the first row needs it and stops when this
/// value is dropped; all targets of the program share it and its templates.
pub(crate) struct Servers {
    local: Arc<Instance>,
    second: Arc<Instance>,
    docker: Arc<Instance>,
}

impl Default for Servers {
    fn default() -> Self {
        Self {
            local: Instance::new(None, "PostgreSQL"),
            second: Instance::new(None, "Second PostgreSQL"),
            docker: Instance::new(Some(Source::Container), "PostgreSQL in Docker"),
        }
    }
}

struct Instance {
    /// `None` takes the first source that has a server.
    source: Option<Source>,
    /// The name of the server in the facts.
    name: &'static str,
    /// The error is a text, because every row that needs the server reports it. The start is
    /// attempted only once.
    started: OnceCell<Result<Started, String>>,
}

impl Instance {
    fn new(source: Option<Source>, name: &'static str) -> Arc<Self> {
        Arc::new(Self {
            source,
            name,
            started: OnceCell::new(),
        })
    }
}

/// A server that runs.
struct Started {
    // Dropped before the server that holds them.
    templates: Mutex<HashMap<Content, Arc<Database>>>,
    /// Copies that rows only read. Rows cannot read the templates themselves, because PostgreSQL
    /// refuses to copy a database with connections.
    read_only: Mutex<HashMap<Content, Arc<Database>>>,
    postgres: LocalPostgres,
    wal_files: String,
    settings: String,
}

/// The user of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Side {
    /// A row that writes, and its floors that read.
    Row,
    /// All rows that read, and their floors.
    Readers,
    /// Floors that write.
    Floor,
}

/// A server as one target uses it.
pub(crate) struct Server {
    /// The copies of logs that are too large to copy for each row. They are not shared between
    /// targets, because rows make them grow.
    grown: Mutex<HashMap<(Content, Side), Arc<Database>>>,
    instance: Arc<Instance>,
    facts: Facts,
}

impl Servers {
    /// The server for rows that name no server. It comes from the first source that has one.
    pub(crate) fn local(&self, target: &Target) -> Arc<Server> {
        let server = Server::new(&self.local, target);
        let facts = target.facts();
        facts.set(
            "Connections",
            "TCP over the loopback interface, for the store and for its floors; client and server \
             share the machine's cores",
        );
        facts.set(
            "Sessions",
            "the server's settings, except generic plans, index scans and nested loops; equal for the \
             store's readers and its floors",
        );
        facts.set(
            "State of the server",
            "a fresh database for every row that writes, copied from a vacuumed template; \
             caches warm",
        );
        tell_datasets(&facts, &Size::of_tables(target.profile()));
        server
    }

    /// Another server beside the local one, with the same settings. If the local one is a server that
    /// was running, both are the same.
    pub(crate) fn second(&self, target: &Target) -> Arc<Server> {
        Server::new(&self.second, target)
    }

    /// A container. Rows on it are [`Unavailable`] on a machine without a container engine.
    pub(crate) fn docker(&self, target: &Target) -> Arc<Server> {
        Server::new(&self.docker, target)
    }
}

impl Server {
    fn new(instance: &Arc<Instance>, target: &Target) -> Arc<Self> {
        let facts = target.facts();
        for fact in fact_names(instance.name) {
            facts.reserve(fact);
        }
        Arc::new(Self {
            grown: Mutex::default(),
            instance: Arc::clone(instance),
            facts,
        })
    }

    /// The running server; the first call starts it.
    async fn started(&self) -> Result<&Started, BoxError> {
        let Instance {
            source,
            name,
            started,
        } = &*self.instance;
        match started.get_or_init(|| Started::new(*source)).await {
            Ok(started) => {
                // Facts belong to a target, so each target that uses the server sets them.
                for (fact, text) in fact_names(name).into_iter().zip(started.facts()) {
                    self.facts.set(fact, text);
                }
                Ok(started)
            }
            Err(reason) if *source == Some(Source::Container) => {
                let reason = reason.clone();
                Err(Unavailable { reason }.into())
            }
            Err(reason) => Err(reason.clone().into()),
        }
    }

    /// A database with a log of this content: the shared copy for readers, otherwise a new copy. A
    /// content that takes too long to copy has one copy per target and side.
    pub(crate) async fn database(
        &self,
        content: Content,
        side: Side,
    ) -> Result<Arc<Database>, BoxError> {
        let started = self.started().await?;
        if side == Side::Readers {
            return started.read_only(content).await;
        }
        if !content.is_too_large_to_copy() {
            return started.copy(content).await;
        }
        // Locked during the copy, so that two set-ups do not make two copies.
        let mut grown = self.grown.lock().await;
        if let Some(database) = grown.get(&(content, side)) {
            return Ok(Arc::clone(database));
        }
        let database = started.copy(content).await?;
        grown.insert((content, side), Arc::clone(&database));
        Ok(database)
    }

    /// Reserves the place of the fact that [`note_storage`](Self::note_storage) fills.
    pub(crate) fn reserve_storage(target: &Target) {
        target.facts().reserve(STORAGE);
    }

    /// Puts into the facts the storage options of a log's tables, and the server's defaults for
    /// options that a table does not set.
    pub(crate) async fn note_storage(&self, log: &Database) -> Result<(), BoxError> {
        const TABLES: &str = "
            SELECT string_agg(relname || ': ' || coalesce(array_to_string(reloptions, ', '),
                              'the server''s defaults'), '; ' ORDER BY relname)
              FROM pg_class WHERE relnamespace = 'dcb'::regnamespace AND relkind = 'r'";
        const DEFAULTS: &str = "
            SELECT string_agg(name || ' = ' || current_setting(name), ', ' ORDER BY name)
              FROM unnest(ARRAY['autovacuum', 'autovacuum_vacuum_insert_scale_factor',
                                'autovacuum_analyze_scale_factor',
                                'default_toast_compression']) AS name";
        let mut connection = raw::connect(log.url()).await?;
        let tables: String = sqlx::query_scalar(TABLES)
            .fetch_one(&mut connection)
            .await?;
        let defaults: String = sqlx::query_scalar(DEFAULTS)
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        let text = format!("{tables}; fillfactor 100 unless said; {defaults}");
        self.facts.set(STORAGE, text);
        Ok(())
    }
}

/// The names of [`Started::facts`].
fn fact_names(server: &str) -> [String; 3] {
    [
        server.to_owned(),
        format!("WAL files of {server}"),
        format!("Settings of {server}"),
    ]
}

impl Started {
    async fn new(source: Option<Source>) -> Result<Self, String> {
        let settings = WAL.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options {
            source,
            settings: settings.into(),
            ..Options::default()
        };
        let postgres = match LocalPostgres::start(options).await {
            Ok(postgres) => postgres,
            // Only the reason, because the page already says which server is missing.
            Err(local_postgres::Error::Unavailable(missing)) => return Err(missing.reason),
            Err(error) => return Err(error.to_string()),
        };
        let described = Self::describe(&postgres).await;
        let (wal_files, settings) = described.map_err(|error| error.to_string())?;
        Ok(Self {
            templates: Mutex::default(),
            read_only: Mutex::default(),
            postgres,
            wal_files,
            settings,
        })
    }

    async fn describe(postgres: &LocalPostgres) -> Result<(String, String), BoxError> {
        let wal_files = if postgres.source() == Source::Url {
            "as the server had them".to_owned()
        } else {
            let size = Self::prefill_wal(postgres).await?;
            format!("{size}, made before the first row")
        };
        let mut connection = raw::connect(postgres.url()).await?;
        let mut settings = Vec::new();
        for name in SETTINGS {
            let value: String = sqlx::query_scalar("SELECT current_setting($1)")
                .bind(name)
                .fetch_one(&mut connection)
                .await?;
            settings.push(format!("{name} = {value}"));
        }
        Ok((wal_files, settings.join(", ")))
    }

    /// Makes the WAL files that the rows will write to, and returns their size. A server that has
    /// run for a while reuses its old files. A new server first fills each 16 MB file with zeros,
    /// and the commit that needs the file waits 10 to 30 ms for the zeros, about once per row.
    async fn prefill_wal(postgres: &LocalPostgres) -> Result<String, BoxError> {
        let mut connection = raw::connect(postgres.url()).await?;
        // Without this message the file would be empty, and a switch from an empty file does
        // nothing.
        let files = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal() \
                     FROM generate_series(1, pg_size_bytes(current_setting('min_wal_size')) \
                     / pg_size_bytes(current_setting('wal_segment_size')))";
        // The checkpoint marks the files as reusable.
        for statement in [files, "CHECKPOINT"] {
            sqlx::query(statement).execute(&mut connection).await?;
        }
        let size = sqlx::query_scalar("SELECT pg_size_pretty(sum(size)) FROM pg_ls_waldir()")
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        Ok(size)
    }

    /// The description of the server on the pages, in the order of [`fact_names`].
    fn facts(&self) -> [String; 3] {
        let source = match self.postgres.source() {
            Source::Url => "a server that was running",
            Source::Installed => "installed binaries",
            Source::Container => "a container",
            Source::Download => "downloaded binaries",
        };
        [
            format!("{} from {source}", self.postgres.version()),
            self.wal_files.clone(),
            self.settings.clone(),
        ]
    }

    async fn copy(&self, content: Content) -> Result<Arc<Database>, BoxError> {
        let template = self.template(content).await?;
        let copy = self.postgres.create_database_from(&template, "row").await?;
        Ok(Arc::new(copy))
    }

    async fn read_only(&self, content: Content) -> Result<Arc<Database>, BoxError> {
        let mut read_only = self.read_only.lock().await;
        if let Some(database) = read_only.get(&content) {
            return Ok(Arc::clone(database));
        }
        let database = self.copy(content).await?;
        read_only.insert(content, Arc::clone(&database));
        Ok(database)
    }

    /// The database that logs with this content are copied from; the first call fills it.
    async fn template(&self, content: Content) -> Result<Arc<Database>, BoxError> {
        // Locked while the template is filled, so that no set-up copies a half-filled one.
        let mut templates = self.templates.lock().await;
        if let Some(template) = templates.get(&content) {
            return Ok(Arc::clone(template));
        }
        let template = Arc::new(self.postgres.create_database("template").await?);
        content::fill(content, template.url()).await?;
        templates.insert(content, Arc::clone(&template));
        Ok(template)
    }
}

fn tell_datasets(facts: &Facts, sizes: &[Size]) {
    for size in sizes {
        let DatasetSize {
            courses,
            students,
            enrollments_asked,
            ..
        } = size.dataset.size();
        facts.set(
            format!("Dataset {}", size.label),
            format!(
                "{courses} courses, {students} students, {enrollments_asked} enrollments asked \
                 for, SHA-256 {} of its events as JSON lines",
                size.dataset.digest()
            ),
        );
    }
}
