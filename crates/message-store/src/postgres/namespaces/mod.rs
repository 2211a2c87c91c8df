mod installation;
mod open_stores;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use postgres_store::{Routed, Schema, Watch, close, in_task};
use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnection, PgRow};

use self::open_stores::{Open, OpenStores};
use self::table::{INTERFACE, SELECT, drop_namespace, insert, namespace, not_found, schema_exists};
use super::config::Config;
use super::error::error;
use super::replica::progress;
use super::store::{Connections, PostgresStore};
use super::writer::SCHEMAS_OF_A_SESSION;
use super::{adoption, schema};
use crate::text::invalid;
use crate::{Error, Metrics, Namespace, NamespaceName, Namespaces, Stats, json};

/// The namespaces of a database, each in its own schema: `message_store_1`, `message_store_2` and
/// so on, and `message_store` for [`Config::interface_namespace`]. The table
/// `message_store_namespaces.namespace` maps names to schemas. A namespace has the whole SQL
/// interface in its schema, and its own locks. Clients of Message DB use only the schema
/// `message_store`.
///
/// The stores share their connections for reads, and four for writes and four for writes that wait for
/// the lock of a category. Once a store has subscriptions, one more connection listens, for all stores.
pub struct PostgresNamespaces {
    shared: Arc<Shared>,
}

/// Each call runs in a task: it holds the place of an open store or locks of the database, and a caller
/// that is not polled must keep neither.
struct Shared {
    config: Config,
    connections: Connections,
    metrics: Metrics,
    open: OpenStores,
    /// The number of stores that were opened so far. The sessions for reads are replaced after each
    /// [`SCHEMAS_OF_A_SESSION`].
    opened: AtomicUsize,
}

/// The name of the listener of all namespaces, in log events.
const LISTENER: &str = "message_store_namespaces";

/// Sessions for each kind of write, for all namespaces.
const WRITERS: usize = 4;

impl PostgresNamespaces {
    /// Connects to a database and creates the table of namespaces if it is missing. Ignores
    /// [`Config::schema`].
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` or `replica_url`; [`Fault::Unreachable`](crate::Fault) or
    /// [`Fault::Refused`](crate::Fault) if the database fails.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(config).await?);
        let preparing = Arc::clone(&shared);
        in_task(async move { preparing.prepare().await }).await?;
        Ok(Self { shared })
    }

    /// The sum of the counters of all open stores, or `None` while a namespace is being opened or
    /// deleted.
    pub fn stats(&self) -> Option<Stats> {
        let stats = self.shared.open.stats()?;
        Some(Stats {
            // They share one.
            listener: self.shared.connections.listener.report(),
            ..stats
        })
    }
}

impl Shared {
    async fn new(config: Config) -> Result<Self, Error> {
        let config = config.capped();
        let metrics = Metrics::new("postgres");
        let servers = config.servers::<Error>()?;
        let reads = metrics.store().reads();
        let readers = Routed::connect(&config, servers, progress(), reads, |each| each).await;
        Ok(Self {
            connections: Connections::new(&config, readers, WRITERS, LISTENER),
            config,
            metrics,
            open: OpenStores::default(),
            opened: AtomicUsize::new(0),
        })
    }

    async fn rows(&self, sql: &str) -> Result<Vec<PgRow>, Error> {
        let statement = || sqlx::query(AssertSqlSafe(sql.to_owned()));
        let readers = &self.connections.readers;
        readers.on_primary(|readers| readers.rows(statement)).await
    }

    /// The number of a new namespace if it is that of the interface, else `None`.
    fn reserved_number(&self, name: &NamespaceName) -> Option<i64> {
        (self.config.interface_namespace.as_ref() == Some(name)).then_some(INTERFACE)
    }

    async fn find(&self, name: &NamespaceName) -> Result<(Schema, Namespace), Error> {
        let sql = format!("{SELECT} WHERE name = $1");
        let statement = || sqlx::query(AssertSqlSafe(sql.clone())).bind(name.as_str());
        let readers = &self.connections.readers;
        let rows = readers
            .on_primary(|readers| readers.rows(statement))
            .await?;
        let row = rows.first().ok_or_else(|| not_found(name))?;
        namespace(row)
    }

    fn config_for(&self, schema: &Schema) -> Config {
        self.config.clone().schema(schema.name())
    }
}

impl Namespaces for PostgresNamespaces {
    type Store = PostgresStore;

    async fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> Result<Namespace, Error> {
        let (shared, name) = (Arc::clone(&self.shared), name.clone());
        let attributes = attributes.map(str::to_owned);
        in_task(async move { shared.create(&name, attributes.as_deref()).await }).await
    }

    async fn open(&self, name: &NamespaceName) -> Result<PostgresStore, Error> {
        let (shared, name) = (Arc::clone(&self.shared), name.clone());
        in_task(async move { shared.open(&name).await }).await
    }

    async fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        let found = self.shared.find(name).await;
        found.map(|(_, namespace)| namespace)
    }

    async fn list(&self) -> Result<Vec<Namespace>, Error> {
        self.shared.list().await
    }

    async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let (shared, name) = (Arc::clone(&self.shared), name.clone());
        in_task(async move { shared.delete(&name).await }).await
    }

    async fn close(&self) {
        let shared = Arc::clone(&self.shared);
        close(async move { shared.close().await }).await;
    }
}

impl Shared {
    async fn create(
        &self,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> Result<Namespace, Error> {
        if let Some(attributes) = attributes {
            json::check(attributes).map_err(invalid("attributes"))?;
        }
        let (mut connection, watch) = self.config.administrator::<Error>().await?;
        watch
            .over(self.create_over(&mut connection, &watch, name, attributes))
            .await
    }

    async fn create_over(
        &self,
        connection: &mut PgConnection,
        watch: &Watch,
        name: &NamespaceName,
        attributes: Option<&str>,
    ) -> Result<Namespace, Error> {
        loop {
            let begun = watch.begin(connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            let number = self.reserved_number(name);
            let inserted = insert(&mut transaction, number, name, attributes).await?;
            let Some(row) = inserted else {
                return Err(Error::NamespaceExists {
                    name: name.to_string(),
                });
            };
            let (schema, namespace) = namespace(&row)?;
            // The interface may be there already, with messages of its clients.
            if number.is_none() && schema_exists(&mut transaction, &schema).await? {
                // Try the next number: a rollback does not reset the sequence.
                let ended = transaction.rollback().await;
                ended.map_err(|failed| error(&failed))?;
                continue;
            }
            schema::ensure(&mut transaction, &schema, &self.config).await?;
            let committed = transaction.commit().await;
            committed.map_err(|failed| error(&failed))?;
            return Ok(namespace);
        }
    }

    async fn open(&self, name: &NamespaceName) -> Result<PostgresStore, Error> {
        let mut place = self.open.place(name).await;
        let found = match self.find(name).await {
            Ok(found) => Some(found),
            Err(Error::NamespaceNotFound { .. }) => None,
            Err(failed) => return Err(failed),
        };
        let created_at = found.as_ref().map(|(_, namespace)| namespace.created_at);
        // An open store is stale if another process deleted the namespace or created it again, or
        // if a caller closed the store.
        match place.take() {
            Some(same) if created_at == Some(same.created_at) && !same.store.is_closed() => {
                let store = same.store.clone();
                place.set(same);
                return Ok(store);
            }
            Some(stale) => stale.store.close_except_connections().await,
            None => {}
        }
        let (schema, Namespace { created_at, .. }) = found.ok_or_else(|| not_found(name))?;
        let config = self.config_for(&schema);
        let (mut connection, watch) = config.administrator::<Error>().await?;
        let opening = async {
            let begun = watch.begin(&mut connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            // Under this lock no other process can delete the namespace. Look it up again, because
            // another process may have deleted it before; then `ensure` would install the schema again.
            let locked = schema.lock(&mut transaction).await;
            locked.map_err(|failed| error(&failed))?;
            if self.find(name).await?.0 != schema {
                return Err(not_found(name));
            }
            schema::ensure(&mut transaction, &schema, &config).await?;
            let committed = transaction.commit().await;
            committed.map_err(|failed| error(&failed))?;
            if config.adopt_message_db {
                adoption::end(&mut connection, &schema, config.write_timeout).await?;
            }
            Ok(())
        };
        watch.over(opening).await?;
        let (connections, metrics) = (self.connections.clone(), self.metrics.clone());
        let store = PostgresStore::with_connections(config, schema, connections, false, metrics);
        let same = store.clone();
        place.set(Open { store, created_at });
        let opened = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        if opened.is_multiple_of(SCHEMAS_OF_A_SESSION) {
            self.connections.readers.retire();
        }
        Ok(same)
    }

    async fn list(&self) -> Result<Vec<Namespace>, Error> {
        let rows = self.rows(&format!("{SELECT} ORDER BY name")).await?;
        rows.iter()
            .map(|row| namespace(row).map(|(_, namespace)| namespace))
            .collect()
    }

    async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let mut place = self.open.place(name).await;
        if let Some(open) = place.take() {
            open.store.close_except_connections().await;
        }
        let (schema, _) = self.find(name).await?;
        let (mut connection, watch) = self.config.administrator::<Error>().await?;
        let deleting = async {
            let begun = watch.begin(&mut connection).await;
            let mut transaction = begun.map_err(|failed| error(&failed))?;
            let deleted = drop_namespace(&mut transaction, name, &schema).await?;
            let committed = transaction.commit().await;
            committed.map_err(|failed| error(&failed))?;
            Ok(deleted)
        };
        watch.over(deleting).await
    }

    async fn close(&self) {
        for mut place in self.open.all().await {
            if let Some(open) = place.take() {
                open.store.close_except_connections().await;
            }
        }
        let Connections {
            readers,
            writing,
            waiting,
            ..
        } = &self.connections;
        writing.close().await;
        waiting.close().await;
        readers.close().await;
    }
}
