use std::collections::HashMap;
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
use super::statements;
use super::store::{SqliteStore, run_blocking};
use crate::text::invalid;
use crate::time::{from_us, to_us};
use crate::{Error, Metrics, Namespace, NamespaceName, Namespaces, Stats, json};

/// Namespaces as one file each in a folder, or all in memory. Cheap to clone.
///
/// A file is named after its namespace. All bytes except lower-case ASCII letters and digits are
/// percent-encoded, so no name leaves the folder, and two names never share a file on a file system
/// that ignores case.
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
    open: Mutex<HashMap<NamespaceName, SqliteStore>>,
}

impl SqliteNamespaces {
    /// The namespaces in a folder, which is created if it is missing, except with
    /// [`Config::read_only`](super::FileConfig::read_only). `config` is the configuration of each store,
    /// with the folder as its location. With [`Location::Memory`], namespaces are in memory and each one
    /// exists until its store is closed.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder can't be created; [`Fault::Unreachable`](crate::Fault) if its path
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

    /// The sum of the counters of all open stores.
    pub fn stats(&self) -> Stats {
        let open = self.shared.lock();
        let stores = open.values().map(|store| store.blocking().stats());
        stores.fold(Stats::default(), Stats::and)
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
    fn lock(&self) -> MutexGuard<'_, HashMap<NamespaceName, SqliteStore>> {
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
            Some(path) => create_file(&self.config, &path, &namespace)?,
            None if find_open(&open, &namespace.name).is_some() => {
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

    /// Returns the open store of a namespace, or opens it and adds it to `open`.
    fn open_locked(
        &self,
        open: &mut HashMap<NamespaceName, SqliteStore>,
        name: &NamespaceName,
    ) -> Result<SqliteStore, Error> {
        if let Some(store) = find_open(open, name) {
            return Ok(store.clone());
        }
        // Checked first, because opening a store creates a missing file.
        let path = self.path(name).filter(|path| path.exists());
        let path = path.ok_or_else(|| not_found(name))?;
        let config = with_path(&self.config, path);
        let store = BlockingSqliteStore::open_measured(config, self.metrics.clone())?;
        let store = SqliteStore::from(store);
        open.insert(name.clone(), store.clone());
        Ok(store)
    }

    fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        let found = match (find_open(&self.lock(), name), self.path(name)) {
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
                let stores = open.values().filter(|store| !store.blocking().is_closed());
                let stores =
                    stores.map(|store| store.blocking().shared.read(Holder::Page, read_namespace));
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
            let found = self.reader(&path);
            let found = found.and_then(|connection| read_namespace(&connection));
            if let Ok(Some(namespace)) = found
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
        for (_, store) in self.lock().drain() {
            store.blocking().close();
        }
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

/// The store of a namespace if it is open. A store that its user closed does not count.
fn find_open<'o>(
    open: &'o HashMap<NamespaceName, SqliteStore>,
    name: &NamespaceName,
) -> Option<&'o SqliteStore> {
    open.get(name).filter(|store| !store.blocking().is_closed())
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
