use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tokio::sync::Mutex;

use super::config::Config;
use super::error::error;
use super::pools::Pools;
use super::schema::{self, Schema};
use super::session::administrator;
use super::store::PostgresStore;
use crate::text::invalid;
use crate::{Error, MessageStore, Namespace, NamespaceName, Namespaces, Stats, json};

const TABLE: &str = include_str!("../../schema/postgres/tables/namespace.sql");

/// Of each: its number, name, microseconds since 1970 of its creation, attributes.
const SELECT: &str = "SELECT number, name, (extract(epoch FROM created_at) * 1000000)::bigint, \
                      attributes FROM message_store_namespaces.namespace";

/// The namespaces of a database: a schema each, `message_store_1`, `message_store_2` and so on; the
/// table `message_store_namespaces.namespace` tells which is whose. A namespace has all of the SQL
/// interface in its schema, and locks of its own.
///
/// The stores share their connections for reads; each has a writer's connection from its first
/// write on.
pub struct PostgresNamespaces {
    config: Config,
    pools: Arc<Pools>,
    open: Mutex<HashMap<NamespaceName, PostgresStore>>,
}

impl PostgresNamespaces {
    /// Connects to a database, and prepares it where it has no namespaces yet.
    /// [`Config::schema`] is not used.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` or `replica_url`, [`Error::Unavailable`].
    pub async fn connect(config: Config) -> Result<Self, Error> {
        let config = config.settled();
        let pools = Arc::new(Pools::new(&config)?);
        let namespaces = Self {
            config,
            pools,
            open: Mutex::default(),
        };
        namespaces.prepare().await?;
        Ok(namespaces)
    }

    /// What the stores that are open have done, together; `None` while one is being opened or
    /// deleted.
    pub fn stats(&self) -> Option<Stats> {
        let open = self.open.try_lock().ok()?;
        let stores = open.values().map(MessageStore::stats);
        Some(stores.fold(Stats::default(), Stats::and))
    }

    async fn prepare(&self) -> Result<(), Error> {
        /// Keeps those apart who prepare the same database.
        const LOCK: &str = "SELECT pg_advisory_xact_lock(1297306963, 0)";
        const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
             WHERE schemaname = 'message_store_namespaces' AND tablename = 'namespace')";
        let mut connection = administrator(&self.config).await?;
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        schema::execute(&mut transaction, LOCK.to_owned()).await?;
        let exists: bool = sqlx::query_scalar(EXISTS)
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

    fn config_of(&self, schema: &Schema) -> Config {
        self.config.clone().schema(schema.name())
    }
}

/// The schema of a row, and what the row says.
fn namespace(row: &PgRow) -> Result<(Schema, Namespace), Error> {
    let (schema, namespace) = decode(row).map_err(|failed| error(&failed))?;
    Ok((schema_of(schema)?, namespace?))
}

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

fn schema_of(number: i64) -> Result<Schema, Error> {
    Schema::new(&format!("message_store_{number}"))
}

impl Namespaces for PostgresNamespaces {
    type Store = PostgresStore;

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
            let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
            let inserted = insert(&mut transaction, name, attributes).await?;
            let Some(row) = inserted else {
                return Err(Error::NamespaceExists {
                    name: name.to_string(),
                });
            };
            let (schema, namespace) = namespace(&row)?;
            if is_taken(&mut transaction, &schema).await? {
                // The number is not drawn again.
                transaction
                    .rollback()
                    .await
                    .map_err(|failed| error(&failed))?;
                continue;
            }
            schema::migrate(&mut transaction, &schema).await?;
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
        // Another process may have deleted it meanwhile, and made it again in another schema; a
        // caller may have closed its store.
        match open.remove(name) {
            Some(store) if schema.as_ref() == Some(store.schema()) && !store.is_closed() => {
                open.insert(name.clone(), store.clone());
                return Ok(store);
            }
            Some(stale) => stale.close_own().await,
            None => {}
        }
        let schema = schema.ok_or_else(|| not_found(name))?;
        let config = self.config_of(&schema);
        let mut connection = administrator(&config).await?;
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        // Nobody deletes it from here on; who did so meanwhile took the schema away.
        schema::lock(&mut transaction, &schema).await?;
        if self.find(name).await?.0 != schema {
            return Err(not_found(name));
        }
        schema::ensure(&mut transaction, &schema).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
        let store = PostgresStore::over(config, schema, Arc::clone(&self.pools), false)?;
        open.insert(name.clone(), store.clone());
        Ok(store)
    }

    async fn get(&self, name: &NamespaceName) -> Result<Namespace, Error> {
        self.find(name).await.map(|(_, namespace)| namespace)
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
            store.close_own().await;
        }
        let (schema, _) = self.find(name).await?;
        let mut connection = administrator(&self.config).await?;
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        let deleted = drop_namespace(&mut transaction, name, &schema).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
        Ok(deleted)
    }

    async fn close(&self) {
        for (_, store) in self.open.lock().await.drain() {
            store.close_own().await;
        }
        self.pools.close().await;
    }
}

fn not_found(name: &NamespaceName) -> Error {
    Error::NamespaceNotFound {
        name: name.to_string(),
    }
}

/// The row of a new namespace, `None` where there is one of this name.
async fn insert(
    connection: &mut PgConnection,
    name: &NamespaceName,
    attributes: Option<&str>,
) -> Result<Option<PgRow>, Error> {
    const INSERT: &str = "INSERT INTO message_store_namespaces.namespace (name, attributes) \
         VALUES ($1, $2) ON CONFLICT (name) DO NOTHING \
         RETURNING number, name, (extract(epoch FROM created_at) * 1000000)::bigint, attributes";
    sqlx::query(INSERT)
        .bind(name.as_str())
        .bind(attributes)
        .fetch_optional(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Whether there is a schema of this name already: that of a store which was put there by name.
async fn is_taken(connection: &mut PgConnection, schema: &Schema) -> Result<bool, Error> {
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)";
    sqlx::query_scalar(EXISTS)
        .bind(schema.name())
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Returns how many messages there were. Waits for the transactions that use the namespace.
async fn drop_namespace(
    connection: &mut PgConnection,
    name: &NamespaceName,
    schema: &Schema,
) -> Result<u64, Error> {
    schema::lock(connection, schema).await?;
    let taken = sqlx::query("DELETE FROM message_store_namespaces.namespace WHERE name = $1")
        .bind(name.as_str())
        .execute(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    if taken.rows_affected() == 0 {
        return Err(not_found(name));
    }
    let lock = "LOCK TABLE message_store.messages IN ACCESS EXCLUSIVE MODE";
    schema::execute(connection, schema.qualify(lock)).await?;
    let count = schema.qualify("SELECT count(*) FROM message_store.messages");
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(count))
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    let drop = format!("DROP SCHEMA {} CASCADE", schema.quoted());
    schema::execute(connection, drop).await?;
    Ok(count.unsigned_abs())
}
