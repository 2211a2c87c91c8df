use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};
use sqlite_store::{Access, Location, sync_folder};
use store_meter::Holder;
use uuid::Uuid;

use super::blocking::BlockingSqliteStore;
use super::config::Config;
use super::connection;
use super::error::Failure;
use super::open_stores::OpenStores;
use super::statements;
use super::store::{SqliteStore, run_blocking};
use crate::text::invalid;
use crate::time::{from_us, to_us};
use crate::{Error, Fault, Metrics, Namespace, NamespaceName, Namespaces, Stats, json};

/// Namespaces as one file each in a folder, or all in memory. Cheap to clone.
///
/// A file is named after its namespace. All bytes except lower-case ASCII letters and digits are
/// percent-encoded, so no name leaves the folder, and two names never share a file on a file system
/// that ignores case.
///
/// An open store has three files open, and two more for each read connection. A store that no caller holds
/// stays open until [`Config::max_open_namespaces`] are open and another one is needed. One that is held, as by
/// a subscription, stays open: if the process may open no more files, the next namespace is refused with
/// [`Error::TooManyNamespaces`].
#[derive(Clone)]
pub struct SqliteNamespaces {
    shared: Arc<Shared>,
}

impl fmt::Debug for SqliteNamespaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqliteNamespaces")
            .field("location", &self.shared.config.location)
            .finish_non_exhaustive()
    }
}

struct Shared {
    /// The stores' configuration, with the folder as its location.
    config: Config,
    /// Those of all namespaces, because their number has no limit.
    metrics: Metrics,
    open: Mutex<OpenStores>,
}

impl SqliteNamespaces {
    /// The namespaces in a folder, which is created if it is missing, except with
    /// [`Config::read_only`](super::FileConfig::read_only). `config` is the configuration of each store,
    /// with the folder as its location. With [`Location::Memory`], namespaces are in memory and each one
    /// exists until its store is closed.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder can't be created; [`Fault::Unreachable`] if its path
    /// is relative and the working directory does not exist.
    pub fn new(config: Config) -> Result<Self, Error> {
        let config = config.normalized()?;
        if let Location::File(folder) = &config.location
            && !config.read_only
        {
            fs::create_dir_all(folder)?;
        }
        let shared = Shared {
            config,
            metrics: Metrics::new("sqlite"),
            open: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The sum of the counters of all open stores, and of those that were closed because they were idle.
    pub fn stats(&self) -> Stats {
        self.shared.lock().stats()
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let shared = Arc::clone(&self.shared);
        run_blocking(move || call(&shared)).await
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, OpenStores> {
        // Poisoning can be ignored: each change of the map is a single insert or remove.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &NamespaceName) -> Option<PathBuf> {
        match &self.config.location {
            Location::Memory => None,
            Location::File(folder) => Some(folder.join(file_name(name))),
        }
    }

    fn create(&self, name: NamespaceName, attributes: Option<String>) -> Result<Namespace, Error> {
        self.config.refuse_read_only()?;
        let namespace = Namespace {
            name,
            created_at: from_us(to_us(SystemTime::now())),
            attributes,
        };
        // Held throughout: two callers must not both find an in-memory namespace missing.
        let mut open = self.lock();
        match self.path(&namespace.name) {
            Some(path) => {
                let create = || create_file(&self.config, &path, &namespace);
                open.with_files(self.max_idle(), create)?;
            }
            None if open.get(&namespace.name).is_some() => {
                return Err(exists(&namespace.name));
            }
            None => {
                let metrics = self.metrics.clone();
                let store = BlockingSqliteStore::open_measured(self.config.clone(), metrics)?;
                store
                    .shared
                    .writer
                    .change(|connection| insert_namespace(connection, &namespace))?;
                open.insert(namespace.name.clone(), store.into());
            }
        }
        Ok(namespace)
    }

    fn open(&self, name: &NamespaceName) -> Result<SqliteStore, Error> {
        self.open_locked(&mut self.lock(), name)
    }

    /// Room for one more.
    fn max_idle(&self) -> usize {
        self.config.max_open_namespaces.saturating_sub(1)
    }

    /// Returns the open store of a namespace, or opens it and adds it to `open`.
    fn open_locked(
        &self,
        open: &mut OpenStores,
        name: &NamespaceName,
    ) -> Result<SqliteStore, Error> {
        if let Some(store) = open.get(name) {
            return Ok(store.clone());
        }
        // Checked first, because opening a store creates a missing file.
        let path = self.path(name).filter(|path| path.exists());
        let path = path.ok_or_else(|| not_found(name))?;
        let config = with_path(&self.config, path);
        let store = open.with_files(self.max_idle(), || {
            let store = BlockingSqliteStore::open_measured(config.clone(), self.metrics.clone())?;
            // Opens a connection for reads, so that later reads find one.
            store.head()?;
            Ok(store)
        })?;
        let store = SqliteStore::from(store);
        open.insert(name.clone(), store.clone());
        Ok(store)
    }

    fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        let open = self.lock().get(name).cloned();
        let found = match (open, self.path(name)) {
            (Some(store), _) => store.blocking().shared.read(Holder::Page, read_namespace)?,
            (None, Some(path)) if path.exists() => read_namespace(&self.reader(&path)?)?,
            (None, _) => None,
        };
        found.ok_or_else(|| not_found(name))
    }

    fn list(&self) -> Result<Vec<Namespace>, Error> {
        let mut namespaces = match &self.config.location {
            Location::File(folder) => self.list_folder(folder)?,
            Location::Memory => {
                let open = self.lock();
                let stores = open
                    .iter()
                    .map(|store| store.blocking().shared.read(Holder::Page, read_namespace));
                stores
                    .filter_map(Result::transpose)
                    .collect::<Result<_, _>>()?
            }
        };
        namespaces.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(namespaces)
    }

    /// Skips files that are not namespaces, such as a copy of one under another name.
    fn list_folder(&self, folder: &Path) -> Result<Vec<Namespace>, Error> {
        let mut namespaces = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path
                .extension()
                .is_none_or(|extension| extension != "sqlite")
            {
                continue;
            }
            let read = || Ok(read_namespace(&self.reader(&path)?)?);
            let found = self
                .lock()
                .with_files(self.config.max_open_namespaces, read);
            if let Err(Error::Fault(Fault::Unreachable(_)) | Error::TooManyNamespaces { .. }) =
                &found
                && path.is_file()
            {
                // It may be a namespace.
                found?;
            } else if let Ok(Some(namespace)) = found
                && path
                    .file_name()
                    .is_some_and(|found| found == file_name(&namespace.name).as_str())
            {
                namespaces.push(namespace);
            }
        }
        Ok(namespaces)
    }

    fn reader(&self, path: &Path) -> Result<Connection, Failure> {
        let access = if self.config.read_only {
            connection::access_for_reads(&self.config, path)?
        } else {
            Access::Write
        };
        Ok(connection::reader(&self.config, path, access)?)
    }

    fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        self.config.refuse_read_only()?;
        let mut open = self.lock();
        // Opening it first checks that the file exists and is a message store.
        let store = self.open_locked(&mut open, name)?;
        let count = |connection: &Connection| {
            let count = connection.query_row(statements::COUNT, [], |row| row.get::<_, i64>(0))?;
            Ok(count.unsigned_abs())
        };
        let deleted = store.blocking().shared.read(Holder::Scan, count)?;
        // Close before the file is removed, so that no write goes to an unlinked file.
        open.remove(name);
        store.blocking().close();
        if let Some(path) = self.path(name) {
            remove_file(&path)?;
        }
        Ok(deleted)
    }

    fn close(&self) {
        self.lock().close();
    }
}

/// Creates the file under a temporary name and links it to its own name once it is complete. If
/// several processes do so at once, one link succeeds.
fn create_file(config: &Config, path: &Path, namespace: &Namespace) -> Result<(), Error> {
    let part = path.with_added_extension(format!("new-{}", Uuid::now_v7().simple()));
    let store =
        BlockingSqliteStore::open_measured(with_path(config, part.clone()), Metrics::default())?;
    let inserted = store
        .shared
        .writer
        .change(|connection| insert_namespace(connection, namespace));
    // Closing moves the log into the file, so the file alone is complete.
    store.close();
    let linked = inserted.and_then(|()| match fs::hard_link(&part, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(exists(&namespace.name))
        }
        linked => Ok(linked?),
    });
    fs::remove_file(&part)?;
    linked?;
    Ok(sync_folder(path)?)
}

/// Removes a file and its log. Another process may still have the file open and keeps its unlinked
/// copy. The log is removed first: a new file with this name must never find an old log.
fn remove_file(path: &Path) -> Result<(), Error> {
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(sync_folder(path)?)
}

fn with_path(config: &Config, path: PathBuf) -> Config {
    let mut config = config.clone();
    config.location = Location::File(path);
    config
}

fn file_name(name: &NamespaceName) -> String {
    let mut file_name = String::from("ns_");
    for byte in name.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => file_name.push(byte.into()),
            _ => file_name.push_str(&format!("%{byte:02x}")),
        }
    }
    file_name + ".sqlite"
}

fn insert_namespace(connection: &Connection, namespace: &Namespace) -> Result<(), Failure> {
    connection.execute(
        statements::INSERT_NAMESPACE,
        params![
            namespace.name.as_str(),
            to_us(namespace.created_at),
            namespace.attributes
        ],
    )?;
    Ok(())
}

fn read_namespace(connection: &Connection) -> Result<Option<Namespace>, Failure> {
    let found: Option<(String, i64, Option<String>)> = connection
        .query_row(statements::NAMESPACE, [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .optional()?;
    let Some((name, created_us, attributes)) = found else {
        return Ok(None);
    };
    Ok(Some(Namespace {
        name: NamespaceName::new(name)?,
        created_at: from_us(created_us),
        attributes,
    }))
}

fn exists(name: &NamespaceName) -> Error {
    Error::NamespaceExists {
        name: name.to_string(),
    }
}

fn not_found(name: &NamespaceName) -> Error {
    Error::NamespaceNotFound {
        name: name.to_string(),
    }
}

impl Namespaces for SqliteNamespaces {
    type Store = SqliteStore;

    async fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> Result<Namespace, Error> {
        if let Some(attributes) = attributes {
            json::check(attributes).map_err(invalid("attributes"))?;
        }
        let (name, attributes) = (name.clone(), attributes.map(str::to_owned));
        self.run(move |shared| shared.create(name, attributes))
            .await
    }

    async fn open(&self, name: &NamespaceName) -> Result<SqliteStore, Error> {
        let name = name.clone();
        self.run(move |shared| shared.open(&name)).await
    }

    async fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        let name = name.clone();
        self.run(move |shared| shared.get(&name)).await
    }

    async fn list(&self) -> Result<Vec<Namespace>, Error> {
        self.run(Shared::list).await
    }

    async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let name = name.clone();
        self.run(move |shared| shared.delete(&name)).await
    }

    async fn close(&self) {
        // An error means that the runtime is shutting down; dropping the stores closes them then.
        let _ = self
            .run(|shared| {
                shared.close();
                Ok(())
            })
            .await;
    }
}
