use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::backup::sync_folder;
use super::blocking::BlockingSqliteStore;
use super::config::{Config, Location};
use super::connection;
use super::statements;
use super::store::{SqliteStore, run_blocking};
use crate::text::invalid;
use crate::time::{from_us, to_us};
use crate::{Error, Namespace, NamespaceName, Namespaces, Stats, json};

/// Namespaces that are a file each in one folder, or all in memory. Cheap to clone.
///
/// A file's name has the namespace's in it, with all but small letters and digits of ASCII written
/// as their bytes: no name leads out of the folder, and no two meet where the file system takes
/// capitals for small letters.
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
    /// With the folder as its location.
    config: Config,
    open: Mutex<HashMap<NamespaceName, SqliteStore>>,
}

impl SqliteNamespaces {
    /// The namespaces in a folder, which is made where there is none: the `config` of each store,
    /// with the folder in place of a file. With [`Location::Memory`] all are in memory, each until
    /// its store is closed.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder can't be made; [`Error::Unavailable`] where its path is relative
    /// to one that is gone.
    pub fn new(config: Config) -> Result<Self, Error> {
        let config = config.settled()?;
        if let Location::File(folder) = &config.location {
            fs::create_dir_all(folder)?;
        }
        let shared = Shared {
            config,
            open: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// What the stores that are open have done, together.
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
        // The map is whole at every point where a panic is possible.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, name: &NamespaceName) -> Option<PathBuf> {
        match &self.config.location {
            Location::Memory => None,
            Location::File(folder) => Some(folder.join(file_name(name))),
        }
    }

    fn create(&self, name: NamespaceName, attributes: Option<String>) -> Result<Namespace, Error> {
        let namespace = Namespace {
            name,
            created_at: from_us(to_us(SystemTime::now())),
            attributes,
        };
        let mut open = self.lock();
        match self.path(&namespace.name) {
            Some(path) => create_file(&self.config, &path, &namespace)?,
            None if in_use(&open, &namespace.name).is_some() => {
                return Err(exists(&namespace.name));
            }
            None => {
                let store = BlockingSqliteStore::open(self.config.clone())?;
                store
                    .shared
                    .writer
                    .change(|found| record(found, &namespace))?;
                open.insert(namespace.name.clone(), store.into());
            }
        }
        Ok(namespace)
    }

    fn open(&self, name: &NamespaceName) -> Result<SqliteStore, Error> {
        self.opened(&mut self.lock(), name)
    }

    /// The store of a namespace, which is among those that are open from then on.
    fn opened(
        &self,
        open: &mut HashMap<NamespaceName, SqliteStore>,
        name: &NamespaceName,
    ) -> Result<SqliteStore, Error> {
        if let Some(store) = in_use(open, name) {
            return Ok(store.clone());
        }
        let path = self.path(name).filter(|path| path.exists());
        let path = path.ok_or_else(|| not_found(name))?;
        let store = SqliteStore::from(BlockingSqliteStore::open(at(&self.config, path))?);
        open.insert(name.clone(), store.clone());
        Ok(store)
    }

    fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        let found = match (in_use(&self.lock(), name), self.path(name)) {
            (Some(store), _) => store.blocking().shared.read(recorded)?,
            (None, Some(path)) if path.exists() => {
                recorded(&connection::reader(&self.config, &path)?)?
            }
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
                let stores = stores.map(|store| store.blocking().shared.read(recorded));
                stores
                    .filter_map(Result::transpose)
                    .collect::<Result<_, _>>()?
            }
        };
        namespaces.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(namespaces)
    }

    /// Files that are something else, or a copy under another name, are no namespaces.
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
            let found = connection::reader(&self.config, &path)
                .and_then(|connection| recorded(&connection));
            if let Ok(Some(namespace)) = found
                && path
                    .file_name()
                    .is_some_and(|own| own == file_name(&namespace.name).as_str())
            {
                namespaces.push(namespace);
            }
        }
        Ok(namespaces)
    }

    fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let mut open = self.lock();
        let store = self.opened(&mut open, name)?;
        let count = |connection: &Connection| {
            let count = connection.query_row(statements::COUNT, [], |row| row.get::<_, i64>(0))?;
            Ok(count.unsigned_abs())
        };
        let deleted = store.blocking().shared.read(count)?;
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

/// Makes the file under another name first: it has its own only when it is whole, and of several
/// that do so at once one succeeds.
fn create_file(config: &Config, path: &Path, namespace: &Namespace) -> Result<(), Error> {
    let part = path.with_added_extension(format!("new-{}", Uuid::now_v7().simple()));
    let store = BlockingSqliteStore::open(at(config, part.clone()))?;
    let recorded = store.shared.writer.change(|found| record(found, namespace));
    store.close();
    let linked = recorded.and_then(|()| match fs::hard_link(&part, path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(exists(&namespace.name))
        }
        linked => Ok(linked?),
    });
    fs::remove_file(&part)?;
    linked?;
    sync_folder(path)
}

/// Another process may still have the file open. It keeps what it has; a new file of this name must
/// not meet its log, so the log goes first.
fn remove_file(path: &Path) -> Result<(), Error> {
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    sync_folder(path)
}

/// The store of a namespace, where one is open that nobody has closed.
fn in_use<'o>(
    open: &'o HashMap<NamespaceName, SqliteStore>,
    name: &NamespaceName,
) -> Option<&'o SqliteStore> {
    open.get(name).filter(|store| !store.blocking().is_closed())
}

fn at(config: &Config, path: PathBuf) -> Config {
    Config {
        location: Location::File(path),
        ..config.clone()
    }
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

fn record(connection: &Connection, namespace: &Namespace) -> Result<(), Error> {
    connection.execute(
        statements::NAME_THE_NAMESPACE,
        params![
            namespace.name.as_str(),
            to_us(namespace.created_at),
            namespace.attributes
        ],
    )?;
    Ok(())
}

fn recorded(connection: &Connection) -> Result<Option<Namespace>, Error> {
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
        // Fails only where the runtime is shutting down, and the stores with it.
        let _ = self
            .run(|shared| {
                shared.close();
                Ok(())
            })
            .await;
    }
}
