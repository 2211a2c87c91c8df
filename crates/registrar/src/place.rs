//! The place of a store, and how a command opens it.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use dcb_core::{AnyStore as EventLog, postgres as event_tables, sqlite as event_files};
use message_store::{
    AnyNamespaces, AnyStore as Messages, Error as MessageError, NamespaceName, Namespaces as _,
    postgres as tables, sqlite as files,
};
use store_http::messages::default_name;

use crate::database::Database;
use crate::failure::{Failure, Kind};
use crate::projections::Projections;

/// The file of the events in the data folder of a server.
const EVENTS: &str = "events.sqlite";
/// The folder of the messages there.
pub(crate) const MESSAGES: &str = "messages";
/// The folder of the series there.
const SERIES: &str = "series";

/// A database, a file or a folder.
#[derive(Clone)]
pub(crate) enum Place {
    Database(Database),
    File(PathBuf),
    /// The data folder of a server.
    Folder(PathBuf),
}

/// Why a command opens a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only for reads. Nothing is created or upgraded.
    Look,
    /// For writes to a store that exists.
    Write,
    /// For writes. A missing store is created.
    Create,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if Database::is_url(text) {
            return text.parse().map(Self::Database);
        }
        if text.contains("://") {
            return Err("expected a postgres:// URL, an SQLite file or a data folder".to_owned());
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if path.is_empty() {
            return Err("the name of the file is empty".to_owned());
        }
        let is_folder = path.ends_with('/') || Path::new(path).is_dir();
        Ok(match is_folder {
            true => Self::Folder(path.into()),
            false => Self::File(path.into()),
        })
    }
}

impl Place {
    /// The place without the password of its URL.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Database(database) => database.name(),
            Self::File(path) | Self::Folder(path) => path.display().to_string(),
        }
    }

    /// Opens the event log.
    pub(crate) async fn events(&self, access: Access) -> Result<EventLog, Failure> {
        let opened = Box::pin(self.open_events(access)).await;
        opened.map_err(|failed| failed.in_context(self.name()))
    }

    async fn open_events(&self, access: Access) -> Result<EventLog, Failure> {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Folder(folder) => folder.join(EVENTS),
            Self::Database(database) => {
                let config = database.events();
                if access != Access::Create {
                    check_events(&config).await?;
                }
                let store = event_tables::PostgresStore::connect(config).await?;
                return Ok(EventLog::Postgres(store));
            }
        };
        require(&path, access)?;
        let mut config = event_files::Config::file(path);
        config.read_only = access == Access::Look;
        let store = event_files::SqliteStore::open(config).await?;
        Ok(EventLog::Sqlite(store))
    }

    /// Opens the kept projections whose tables are in the place.
    pub(crate) async fn projections(&self) -> Result<Projections, Failure> {
        let opened = Box::pin(self.open_projections()).await;
        opened.map_err(|failed| failed.in_context(self.name()))
    }

    async fn open_projections(&self) -> Result<Projections, Failure> {
        let path = match self {
            Self::File(path) => path.clone(),
            Self::Folder(folder) => folder.join(EVENTS),
            Self::Database(database) => {
                let config = database.events();
                check_events(&config).await?;
                let projections = event_tables::Projections::new(&config)?;
                return Ok(Projections::Database(Box::new(projections)));
            }
        };
        require(&path, Access::Write)?;
        let projections = event_files::Projections::new(event_files::Config::file(path))?;
        Ok(Projections::File(projections))
    }

    /// Opens the message store, or the one of a namespace.
    pub(crate) async fn messages(
        &self,
        namespace: Option<&NamespaceName>,
        access: Access,
    ) -> Result<Messages, Failure> {
        let opened = Box::pin(self.open_messages(namespace, access)).await;
        opened.map_err(|failed| failed.in_context(self.name()))
    }

    async fn open_messages(
        &self,
        namespace: Option<&NamespaceName>,
        access: Access,
    ) -> Result<Messages, Failure> {
        match (self, namespace) {
            (Self::File(path), None) => {
                require(path, access)?;
                let mut config = files::Config::file(path);
                config.read_only = access == Access::Look;
                let store = files::SqliteStore::open(config).await?;
                Ok(Messages::Sqlite(store))
            }
            (Self::Database(database), None) => {
                let config = database.messages();
                if access != Access::Create {
                    let checked = tables::check_schema(&config).await;
                    checked.map_err(|failed| with_advice(failed.into()))?;
                }
                let store = tables::PostgresStore::connect(config).await?;
                Ok(Messages::Postgres(store))
            }
            (_, name) => {
                let namespaces = Box::pin(self.namespaces(access)).await?;
                let namespaces =
                    namespaces.ok_or_else(|| Failure::input("a file has no namespaces"))?;
                let name = name.cloned().unwrap_or_else(default_name);
                match Box::pin(namespaces.open(&name)).await {
                    Err(MessageError::NamespaceNotFound { .. }) if access == Access::Create => {
                        Box::pin(namespaces.create(&name, None)).await?;
                        Ok(Box::pin(namespaces.open(&name)).await?)
                    }
                    opened => Ok(opened?),
                }
            }
        }
    }

    /// Opens the namespaces of a data folder or a database; `None` for a file.
    pub(crate) async fn namespaces(
        &self,
        access: Access,
    ) -> Result<Option<AnyNamespaces>, Failure> {
        match self {
            Self::File(_) => Ok(None),
            Self::Database(database) => {
                let config = database.messages().interface_namespace(default_name());
                if access != Access::Create {
                    let checked = tables::PostgresNamespaces::check_schemas(config.clone());
                    Box::pin(checked)
                        .await
                        .map_err(|failed| with_advice(failed.into()))?;
                }
                let namespaces = Box::pin(tables::PostgresNamespaces::connect(config)).await?;
                Ok(Some(AnyNamespaces::Postgres(Box::new(namespaces))))
            }
            Self::Folder(folder) => {
                let folder = folder.join(MESSAGES);
                require(&folder, access)?;
                let mut config = files::Config::file(folder);
                config.read_only = access == Access::Look;
                let namespaces = files::SqliteNamespaces::new(config)?;
                Ok(Some(AnyNamespaces::Sqlite(namespaces)))
            }
        }
    }

    /// Whether the place has both stores, as a server's data folder and a database do.
    pub(crate) fn holds_all(&self) -> bool {
        match self {
            Self::File(_) => false,
            Self::Folder(_) => true,
            Self::Database(database) => database.schema.is_none(),
        }
    }

    /// The folder of the series: a part of a server's data folder, or the folder itself.
    pub(crate) fn series(&self) -> Result<PathBuf, Failure> {
        let Self::Folder(folder) = self else {
            let name = self.name();
            return Err(Failure::input(format!(
                "series are in a folder, not in {name}"
            )));
        };
        let inner = folder.join(SERIES);
        Ok(match inner.is_dir() {
            true => inner,
            false => folder.clone(),
        })
    }
}

async fn check_events(config: &event_tables::Config) -> Result<(), Failure> {
    let checked = event_tables::check_schema(config).await;
    checked.map_err(|failed| with_advice(failed.into()))
}

/// Refuses a file that is missing, unless the command may create it.
fn require(path: &Path, access: Access) -> Result<(), Failure> {
    match access == Access::Create || path.exists() {
        true => Ok(()),
        false => Err(Failure::unusable(format!(
            "there is no store at {}",
            path.display()
        ))),
    }
}

fn with_advice(failed: Failure) -> Failure {
    match failed.kind {
        Kind::Unusable => failed.advise(
            "registrar schema check lists all differences, registrar schema install installs or upgrades",
        ),
        _ => failed,
    }
}
