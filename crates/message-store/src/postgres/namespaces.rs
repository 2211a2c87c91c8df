use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postgres_store::{BEGIN, Schema, Task};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tokio::sync::Mutex;

use super::config::Config;
use super::error::error;
use super::pools::Pools;
use super::schema;
use super::session::administrator;
use super::store::{PostgresStore, in_task};
use crate::text::invalid;
use crate::{Error, MessageStore, Namespace, NamespaceName, Namespaces, Stats, json};

const TABLE: &str = include_str!("../../schema/postgres/tables/namespace.sql");

/// Columns: number, name, time of creation in microseconds since 1970, attributes.
const SELECT: &str = "SELECT number, name, (extract(epoch FROM created_at) * 1000000)::bigint, \
                      attributes FROM message_store_namespaces.namespace";

/// The namespaces of a database, each in its own schema: `message_store_1`, `message_store_2` and
/// so on. The table `message_store_namespaces.namespace` maps names to schemas. A namespace has the
/// whole SQL interface in its schema, and its own locks.
///
/// The stores share read connections. Each store opens a connection for writes with its first
/// write.
pub struct PostgresNamespaces {
    shared: Arc<Shared>,
}

/// Each call runs in a task: it holds the map of open stores or locks of the database, and a caller
/// that is not polled must keep neither.
struct Shared {
    config: Config,
    pools: Arc<Pools>,
    open: Mutex<HashMap<NamespaceName, PostgresStore>>,
}

impl PostgresNamespaces {
    /// Connects to a database and creates the table of namespaces if it is missing. Ignores
    /// [`Config::schema`].
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` or `replica_url`; [`Error::Unavailable`] or
    /// [`Error::Database`] if the database fails.
    pub async fn connect(config: Config) -> Result<Self, Error> {
        let config = config.normalized();
        let pools = Arc::new(Pools::new(&config)?);
        let namespaces = Self {
            shared: Arc::new(Shared {
                config,
                pools,
                open: Mutex::default(),
            }),
        };
        let shared = Arc::clone(&namespaces.shared);
        in_task(async move { shared.prepare().await }).await?;
        Ok(namespaces)
    }

    /// The sum of the counters of all open stores, or `None` while a namespace is being opened or
    /// deleted.
    pub fn stats(&self) -> Option<Stats> {
        // This function is not async, so it must not wait for the lock: `open` and `delete` hold it
        // across round trips.
        let open = self.shared.open.try_lock().ok()?;
        let stores = open.values().map(MessageStore::stats);
        Some(stores.fold(Stats::default(), Stats::and))
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
        // Without a result the runtime shuts down, and the connections end with it.
        let _ = Task::start(async move { shared.close().await })
            .join()
            .await;
    }
}

impl Shared {
    async fn prepare(&self) -> Result<(), Error> {
        /// Serializes processes that prepare the same database.
        const LOCK: &str = "SELECT pg_advisory_xact_lock(1297306963, 0)";
        const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
             WHERE schemaname = 'message_store_namespaces' AND tablename = 'namespace')";
        let mut connection = administrator(&self.config).await?;
        let mut transaction = connection
            .begin_with(BEGIN)
            .await
            .map_err(|failed| error(&failed))?;
        schema::require_utf8(&mut transaction).await?;
        schema::execute(&mut transaction, LOCK.to_owned()).await?;
        let exists: bool = sqlx::query_scalar(EXISTS)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if !exists {
            let sql = format!("CREATE SCHEMA IF NOT EXISTS message_store_namespaces;{TABLE}");
            schema::execute(&mut transaction, sql).await?;
        }
        transaction.commit().await.map_err(|failed| error(&failed))
    }

    async fn find(&self, name: &NamespaceName) -> Result<(Schema, Namespace), Error> {
        let sql = format!("{SELECT} WHERE name = $1");
        let statement = || sqlx::query(AssertSqlSafe(sql.clone())).bind(name.as_str());
        let rows = self.pools.primary.rows(statement).await?;
        let row = rows.first().ok_or_else(|| not_found(name))?;
        namespace(row)
    }

    fn config_for(&self, schema: &Schema) -> Config {
        self.config.clone().schema(schema.name())
    }
}

/// Decodes a row of [`SELECT`].
fn namespace(row: &PgRow) -> Result<(Schema, Namespace), Error> {
    let (schema, namespace) = decode(row).map_err(|failed| error(&failed))?;
    Ok((schema_for(schema)?, namespace?))
}

/// The outer error comes from the driver. The inner error means that the stored name is invalid.
fn decode(row: &PgRow) -> Result<(i64, Result<Namespace, Error>), sqlx::Error> {
    let name: String = row.try_get(1)?;
    let created_at: i64 = row.try_get(2)?;
    let attributes: Option<String> = row.try_get(3)?;
    let namespace = NamespaceName::new(name).map(|name| Namespace {
        name,
        created_at: created_at_us(created_at),
        attributes,
    });
    Ok((row.try_get(0)?, namespace))
}

fn created_at_us(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(micros.unsigned_abs())
}

fn schema_for(number: i64) -> Result<Schema, Error> {
    schema::schema(&format!("message_store_{number}"))
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
        let mut connection = administrator(&self.config).await?;
        loop {
            let mut transaction = connection
                .begin_with(BEGIN)
                .await
                .map_err(|failed| error(&failed))?;
            let inserted = insert(&mut transaction, name, attributes).await?;
            let Some(row) = inserted else {
                return Err(Error::NamespaceExists {
                    name: name.to_string(),
                });
            };
            let (schema, namespace) = namespace(&row)?;
            if schema_exists(&mut transaction, &schema).await? {
                // Try the next number: a rollback does not reset the sequence.
                transaction
                    .rollback()
                    .await
                    .map_err(|failed| error(&failed))?;
                continue;
            }
            schema::ensure(&mut transaction, &schema).await?;
            transaction
                .commit()
                .await
                .map_err(|failed| error(&failed))?;
            return Ok(namespace);
        }
    }

    async fn open(&self, name: &NamespaceName) -> Result<PostgresStore, Error> {
        let mut open = self.open.lock().await;
        let schema = match self.find(name).await {
            Ok((schema, _)) => Some(schema),
            Err(Error::NamespaceNotFound { .. }) => None,
            Err(failed) => return Err(failed),
        };
        // An open store is stale if another process deleted the namespace or created it again in
        // another schema, or if a caller closed the store.
        match open.remove(name) {
            Some(store) if schema.as_ref() == Some(store.schema()) && !store.is_closed() => {
                open.insert(name.clone(), store.clone());
                return Ok(store);
            }
            Some(stale) => stale.close_except_pools().await,
            None => {}
        }
        let schema = schema.ok_or_else(|| not_found(name))?;
        let config = self.config_for(&schema);
        let mut connection = administrator(&config).await?;
        let mut transaction = connection
            .begin_with(BEGIN)
            .await
            .map_err(|failed| error(&failed))?;
        // Under this lock no other process can delete the namespace. Look it up again, because
        // another process may have deleted it before; then `ensure` would install the schema again.
        schema
            .lock(&mut transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if self.find(name).await?.0 != schema {
            return Err(not_found(name));
        }
        schema::ensure(&mut transaction, &schema).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
        let store = PostgresStore::with_pools(config, schema, Arc::clone(&self.pools), false)?;
        open.insert(name.clone(), store.clone());
        Ok(store)
    }

    async fn list(&self) -> Result<Vec<Namespace>, Error> {
        let sql = format!("{SELECT} ORDER BY name");
        let statement = || sqlx::query(AssertSqlSafe(sql.clone()));
        let rows = self.pools.primary.rows(statement).await?;
        rows.iter()
            .map(|row| namespace(row).map(|(_, namespace)| namespace))
            .collect()
    }

    async fn delete(&self, name: &NamespaceName) -> Result<u64, Error> {
        let mut open = self.open.lock().await;
        if let Some(store) = open.remove(name) {
            store.close_except_pools().await;
        }
        let (schema, _) = self.find(name).await?;
        let mut connection = administrator(&self.config).await?;
        let mut transaction = connection
            .begin_with(BEGIN)
            .await
            .map_err(|failed| error(&failed))?;
        let deleted = drop_namespace(&mut transaction, name, &schema).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
        Ok(deleted)
    }

    async fn close(&self) {
        for (_, store) in self.open.lock().await.drain() {
            store.close_except_pools().await;
        }
        self.pools.close().await;
    }
}

fn not_found(name: &NamespaceName) -> Error {
    Error::NamespaceNotFound {
        name: name.to_string(),
    }
}

/// Inserts the row of a namespace. Returns `None` if the name exists.
async fn insert(
    connection: &mut PgConnection,
    name: &NamespaceName,
    attributes: Option<&str>,
) -> Result<Option<PgRow>, Error> {
    const INSERT: &str = "INSERT INTO message_store_namespaces.namespace (name, attributes) \
         VALUES ($1, $2) ON CONFLICT (name) DO NOTHING \
         RETURNING number, name, (extract(epoch FROM created_at) * 1000000)::bigint, attributes";
    sqlx::query(INSERT)
        .persistent(false)
        .bind(name.as_str())
        .bind(attributes)
        .fetch_optional(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Whether a schema with this name exists, such as one that was configured by [`Config::schema`].
async fn schema_exists(connection: &mut PgConnection, schema: &Schema) -> Result<bool, Error> {
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)";
    sqlx::query_scalar(EXISTS)
        .persistent(false)
        .bind(schema.name())
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Drops a namespace and returns its number of messages. Waits for transactions that use it.
async fn drop_namespace(
    connection: &mut PgConnection,
    name: &NamespaceName,
    schema: &Schema,
) -> Result<u64, Error> {
    schema
        .lock(connection)
        .await
        .map_err(|failed| error(&failed))?;
    let deleted = sqlx::query("DELETE FROM message_store_namespaces.namespace WHERE name = $1")
        .persistent(false)
        .bind(name.as_str())
        .execute(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    if deleted.rows_affected() == 0 {
        return Err(not_found(name));
    }
    // Lock before the count, so that no message is written between the count and the drop.
    let lock = "LOCK TABLE message_store.messages IN ACCESS EXCLUSIVE MODE";
    schema::execute(connection, schema.qualify(lock)).await?;
    let count = schema.qualify("SELECT count(*) FROM message_store.messages");
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(count))
        .persistent(false)
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    let drop = format!("DROP SCHEMA {} CASCADE", schema.quoted());
    schema::execute(connection, drop).await?;
    Ok(count.unsigned_abs())
}
