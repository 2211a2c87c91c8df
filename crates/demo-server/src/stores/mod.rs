//! Opens the three stores as the settings say, and closes them in order.

mod advice;
mod folder;
mod series;
mod writable;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dcb_core::EventStore as _;
use dcb_core::postgres::Projections;
use local_postgres::{LocalPostgres, Options};
use tokio::sync::Mutex;

use crate::forward::{self, Forwarding};
use crate::observe::recorded::Recorded;
use crate::settings::Settings;
use store_http::messages::default_name;

use folder::FolderLock;

pub(crate) use advice::of_messages as advice;
pub(crate) use dcb_core::AnyStore as Events;
pub(crate) use message_store::AnyNamespaces as MessageNamespaces;
pub(crate) use series::FOLDER as SERIES_FOLDER;

/// The file of the events in the data folder.
pub(crate) const EVENTS: &str = "events.sqlite";
/// The folder of the messages in the data folder.
pub(crate) const MESSAGES: &str = "messages";

/// The server's stores.
pub(crate) struct Stores {
    pub(crate) events: Events,
    /// The sliced projections in the events' database. Other programs run them, so a data folder, which
    /// only one server may use, has none.
    pub(crate) projections: Option<Mutex<Projections>>,
    pub(crate) messages: Arc<MessageNamespaces>,
    pub(crate) series: tsdb::Db,
    /// The reason why the files of the series could not be opened. `series` is empty then, and its
    /// paths answer 503.
    pub(crate) series_failed: Option<tsdb::Error>,
    /// Sends the samples to another server, if the settings name one.
    pub(crate) forwarding: Option<Forwarding>,
    /// The metrics of the stores.
    pub(crate) recorded: Recorded,
    /// Human-readable location of the data.
    pub(crate) location: String,
    // Fields drop in this order: the stores before the server and the lock that they need.
    _postgres: Option<LocalPostgres>,
    _lock: Option<FolderLock>,
}

/// The server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    // The messages include their source, because `main` prints no error chain.
    /// The settings contradict each other.
    #[error("{0}")]
    Settings(String),
    /// Another server uses the data folder.
    #[error("the data folder {} is used by another demo-server: stop that one, or choose another folder with --data", folder.display())]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The data folder can't be used.
    #[error("the data folder {} can't be used: {source}; choose another one with --data", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The server's user can't write to a file in the data folder.
    #[error("can't write to {}: {source}; give the server's user write access", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// PostgreSQL could not be started.
    #[error("could not start PostgreSQL: {0}")]
    Postgres(#[from] local_postgres::Error),
    /// The event store could not be opened.
    #[error("could not open the event store: {0}{advice}", advice = advice::of_events(.0))]
    Events(#[from] dcb_core::Error),
    /// The message store could not be opened.
    #[error("could not open the message store: {0}{advice}", advice = advice::of_messages(.0))]
    Messages(#[from] message_store::Error),
    /// Samples can't be forwarded.
    #[error(
        "can't forward samples: {0}; for https://, the system needs trusted certificates, or name their file with SSL_CERT_FILE"
    )]
    Forward(std::io::Error),
    /// The certificate for gRPC, or its key, can't be read.
    #[error("can't read {}: {source}; --grpc-cert and --grpc-tls-key name files in PEM", file.display())]
    GrpcFile {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The certificate for gRPC, or its key, can't be used.
    #[error("{0}; --grpc-cert and --grpc-tls-key name files in PEM that belong together")]
    Grpc(#[from] dcb_grpc::ServeError),
    /// The address can't be bound.
    #[error(
        "can't listen on {address}: {source}; choose another address with {option} or --listen"
    )]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The option of the port.
        option: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Stores {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let recorded = Recorded::default();
        let stores = recorded.of(Self::open_all(settings)).await?;
        Ok(Self { recorded, ..stores })
    }

    async fn open_all(settings: &Settings) -> Result<Self, OpenError> {
        let folder = settings.folder();
        // The lock comes first: opening the stores may already write.
        let lock = folder.clone().map(FolderLock::take).transpose()?;
        let (postgres, url) = match &settings.database_url {
            Some(url) => (None, Some(url.clone())),
            None if settings.local_postgres => {
                let server = LocalPostgres::start(Options::default()).await?;
                // A Unix socket has less overhead than TCP.
                let url = server.socket_url().unwrap_or(server.url()).to_owned();
                (Some(server), Some(url))
            }
            None => (None, None),
        };
        let folder = folder.as_deref();
        let (events, messages) = match &url {
            Some(url) => in_postgres(url, settings.replica_url.clone()).await?,
            None => in_sqlite(folder).await?,
        };
        // Damaged series must not stop the other stores.
        let ((series, tail), series_failed) = match series::open(folder, settings) {
            Ok(opened) => (opened, None),
            Err(failed) => {
                tracing::error!(%failed, "could not open the series");
                let empty = tsdb::Db::new(tsdb::DbOptions::default());
                ((empty, None), Some(failed))
            }
        };
        let forwarding = tail.zip(forward::target(settings));
        let forwarding = forwarding
            .map(|(tail, target)| Forwarding::start(tail, target, settings))
            .transpose()
            .map_err(OpenError::Forward)?;
        Ok(Self {
            events,
            projections: url.as_deref().map(projections).transpose()?,
            messages: Arc::new(messages),
            series,
            forwarding,
            series_failed,
            recorded: Recorded::default(),
            location: location(&postgres, url.is_some(), folder),
            _postgres: postgres,
            _lock: lock,
        })
    }

    pub(crate) async fn close(&self) {
        self.events.close().await;
        message_store::Namespaces::close(&*self.messages).await;
        if let Some(forwarding) = &self.forwarding {
            forwarding.close().await;
        }
        if let Err(failed) = self.series.close() {
            tracing::error!(%failed, "could not close the series");
        }
    }
}

// Not by `AnyStore::open`: it would take a mistyped URL for a path, and a folder may have any name.
async fn in_postgres(
    url: &str,
    replica_url: Option<String>,
) -> Result<(Events, MessageNamespaces), OpenError> {
    let (mut events, mut messages) = (events_config(url), messages_config(url));
    events.replica_url.clone_from(&replica_url);
    messages.replica_url = replica_url;
    // The messages first: a Message DB is refused, and then nothing is installed.
    let messages = message_store::postgres::PostgresNamespaces::connect(messages);
    let messages = messages.await?;
    let events = dcb_core::postgres::PostgresStore::connect(events).await?;
    Ok((
        Events::Postgres(events),
        MessageNamespaces::Postgres(Box::new(messages)),
    ))
}

/// The events of a database.
pub(crate) fn events_config(url: &str) -> dcb_core::postgres::Config {
    dcb_core::postgres::Config::new(url)
}

fn projections(url: &str) -> Result<Mutex<Projections>, dcb_core::Error> {
    Ok(Mutex::new(Projections::new(&events_config(url))?))
}

/// The namespaces of a database. Clients of Message DB reach the messages of `default`.
pub(crate) fn messages_config(url: &str) -> message_store::postgres::Config {
    message_store::postgres::Config::new(url).interface_namespace(default_name())
}

/// In files of the folder, or in memory.
async fn in_sqlite(folder: Option<&Path>) -> Result<(Events, MessageNamespaces), OpenError> {
    use dcb_core::sqlite::{Config, SqliteStore};
    use message_store::sqlite;
    let (events, messages) = match folder {
        Some(folder) => {
            let (events, messages) = (folder.join(EVENTS), folder.join(MESSAGES));
            writable::check(&events)?;
            writable::check(&messages)?;
            (Config::file(events), sqlite::Config::file(messages))
        }
        None => (Config::memory(), sqlite::Config::memory()),
    };
    Ok((
        Events::Sqlite(SqliteStore::open(events).await?),
        MessageNamespaces::Sqlite(sqlite::SqliteNamespaces::new(messages)?),
    ))
}

fn location(postgres: &Option<LocalPostgres>, in_postgres: bool, folder: Option<&Path>) -> String {
    let folder = folder.map_or("memory".to_owned(), |folder| folder.display().to_string());
    match postgres {
        Some(server) => format!(
            "events and messages in {}, series in {folder}",
            server.description()
        ),
        None if in_postgres => format!("events and messages in PostgreSQL, series in {folder}"),
        None => format!("all data in {folder}"),
    }
}
