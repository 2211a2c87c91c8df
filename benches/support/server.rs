//! The servers of a target: the one that its rows are about, and Docker's for comparison.

use super::content::Content;
use super::log::Side;
use super::rows::Size;
use super::{content, raw};
use bench::{BoxError, Facts, Target};
use course_enrollment::DatasetSize;
use local_postgres::{Database, LocalPostgres, Options, Source};
use sqlx::Connection as _;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Read back from the server, whatever was asked for.
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

/// A durable server with the defaults of `initdb`, but for `max_connections` and these. To copy a
/// log is to write much WAL: with the default of the first a checkpoint starts between the copy for
/// a row and the one for its floor, and from then on the first change of each page is dearer, on one
/// side of the comparison only. The second is what [`Server::lay_in_wal`] makes, and keeps it there.
const WAL: [(&str, &str); 2] = [("max_wal_size", "4GB"), ("min_wal_size", "2GB")];

/// The server of a target's rows, and the logs on it that rows share.
pub(crate) struct Server {
    // Dropped before the server that they are on.
    templates: Mutex<HashMap<Content, Arc<Database>>>,
    shared: Mutex<HashMap<(Content, Side), Arc<Database>>>,
    postgres: LocalPostgres,
}

impl Server {
    /// The server of the rows that name none, from the first source that has one.
    pub(crate) fn local(target: &mut Target) -> Result<Arc<Self>, BoxError> {
        let server = target.block_on(async { Ok(Self::start(None).await?) })?;
        server.make_ready(target, "PostgreSQL")?;
        let facts = target.facts();
        facts.set(
            "Connections",
            "TCP over the loopback interface, for the store and for its floors; client and server \
             share the machine's cores",
        );
        facts.set(
            "Sessions",
            "the server's settings but for generic plans, index scans and nested loops, as in the \
             store's readers, so in its floors",
        );
        facts.set(
            "State of the server",
            "a database of its own for every row that writes, copied from a vacuumed template; \
             caches warm",
        );
        tell_datasets(&facts, &Size::of_tables(target.profile()));
        Ok(server)
    }

    /// A container beside it, or why there is none.
    pub(crate) fn docker(target: &mut Target) -> Result<Result<Arc<Self>, String>, BoxError> {
        let container = Some(Source::Container);
        let started = target.block_on(async { Ok(Self::start(container).await) })?;
        match started {
            Ok(server) => {
                server.make_ready(target, "PostgreSQL in Docker")?;
                Ok(Ok(server))
            }
            Err(local_postgres::Error::Unavailable(missing)) => Ok(Err(missing.reason)),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    async fn start(source: Option<Source>) -> Result<Arc<Self>, local_postgres::Error> {
        let settings = WAL.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let options = Options {
            source,
            settings: settings.into(),
            ..Options::default()
        };
        Ok(Arc::new(Self {
            templates: Mutex::default(),
            shared: Mutex::default(),
            postgres: LocalPostgres::start(options).await?,
        }))
    }

    /// Makes the files that the rows' WAL goes into, and tells their size. A server that has run for
    /// a while writes over those it has; a new one fills 16 MB with zeros first, and the commit in
    /// whose way that is waits 10 to 30 ms for it, about once a row.
    async fn lay_in_wal(&self) -> Result<String, BoxError> {
        let mut connection = raw::connect(self.postgres.url()).await?;
        // Only a file with something in it is left for the next one.
        let files = "SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal() \
                     FROM generate_series(1, pg_size_bytes(current_setting('min_wal_size')) \
                     / pg_size_bytes(current_setting('wal_segment_size')))";
        // After the checkpoint they are there to be written over.
        for statement in [files, "CHECKPOINT"] {
            sqlx::query(statement).execute(&mut connection).await?;
        }
        let size = sqlx::query_scalar("SELECT pg_size_pretty(sum(size)) FROM pg_ls_waldir()")
            .fetch_one(&mut connection)
            .await?;
        connection.close().await?;
        Ok(size)
    }

    /// Gets it ready, keeps it until the last row has been measured, and says in the facts what it is.
    fn make_ready(self: &Arc<Self>, target: &mut Target, name: &str) -> Result<(), BoxError> {
        target.keep(Arc::clone(self));
        let facts = target.facts();
        let postgres = &self.postgres;
        let source = match postgres.source() {
            Source::Url => "a server that was running",
            Source::Installed => "installed binaries",
            Source::Container => "a container",
            Source::Download => "downloaded binaries",
        };
        facts.set(name, format!("{} from {source}", postgres.version()));
        let wal_files = if postgres.source() == Source::Url {
            "as the server had them".to_owned()
        } else {
            let size = target.block_on(self.lay_in_wal())?;
            format!("{size}, made before the first row")
        };
        facts.set(format!("WAL files of {name}"), wal_files);
        let settings = target.block_on(self.settings())?;
        facts.set(format!("Settings of {name}"), settings);
        Ok(())
    }

    async fn settings(&self) -> Result<String, BoxError> {
        let mut connection = raw::connect(self.postgres.url()).await?;
        let mut settings = Vec::new();
        for name in SETTINGS {
            let value: String = sqlx::query_scalar("SELECT current_setting($1)")
                .bind(name)
                .fetch_one(&mut connection)
                .await?;
            settings.push(format!("{name} = {value}"));
        }
        Ok(settings.join(", "))
    }

    /// A database with a log of this content: a new one, or where copying takes too long one for
    /// all of a side, which grows by what they append.
    pub(crate) async fn database(
        &self,
        content: Content,
        side: Side,
    ) -> Result<Arc<Database>, BoxError> {
        if !content.is_too_large_to_copy() {
            return self.copy(content).await;
        }
        let mut shared = self.shared.lock().await;
        if let Some(database) = shared.get(&(content, side)) {
            return Ok(Arc::clone(database));
        }
        let database = self.copy(content).await?;
        shared.insert((content, side), Arc::clone(&database));
        Ok(database)
    }

    async fn copy(&self, content: Content) -> Result<Arc<Database>, BoxError> {
        let template = self.template(content).await?;
        let copy = self.postgres.create_database_from(&template, "row").await?;
        Ok(Arc::new(copy))
    }

    /// The database that copies of this content are made from, made when it is first asked for.
    async fn template(&self, content: Content) -> Result<Arc<Database>, BoxError> {
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
