//! The table of namespaces, and the schemas that its rows name.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use postgres_store::Schema;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row as _};

use crate::postgres::design;
use crate::postgres::error::error;
use crate::postgres::execute::execute;
use crate::{Error, Namespace, NamespaceName};

pub(super) const TABLE: &str = include_str!("../../../schema/postgres/tables/namespace.sql");

/// Columns: number, name, time of creation in microseconds since 1970, attributes.
pub(super) const SELECT: &str = "SELECT number, name, (extract(epoch FROM created_at) * 1000000)::bigint, \
                      attributes FROM message_store_namespaces.namespace";

/// The number of the namespace in the schema `message_store`. Others are numbered from 1.
pub(super) const INTERFACE: i64 = 0;

/// Decodes a row of [`SELECT`].
pub(super) fn namespace(row: &PgRow) -> Result<(Schema, Namespace), Error> {
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

pub(super) fn schema_for(number: i64) -> Result<Schema, Error> {
    match number {
        INTERFACE => design::schema(design::MESSAGE_STORE),
        number => design::schema(&format!("message_store_{number}")),
    }
}

/// Inserts the row of a namespace, with this number or the next one. Returns `None` if the name
/// exists.
pub(super) async fn insert(
    connection: &mut PgConnection,
    number: Option<i64>,
    name: &NamespaceName,
    attributes: Option<&str>,
) -> Result<Option<PgRow>, Error> {
    // Any conflict: of two processes that insert the interface at the same time, PostgreSQL may
    // find the same number first.
    const RETURNING: &str = "ON CONFLICT DO NOTHING \
         RETURNING number, name, (extract(epoch FROM created_at) * 1000000)::bigint, attributes";
    let values = match number {
        None => "(name, attributes) VALUES ($1, $2)".to_owned(),
        Some(number) => {
            format!("(name, attributes, number) OVERRIDING SYSTEM VALUE VALUES ($1, $2, {number})")
        }
    };
    let sql = format!("INSERT INTO message_store_namespaces.namespace {values} {RETURNING}");
    sqlx::query(AssertSqlSafe(sql))
        .persistent(false)
        .bind(name.as_str())
        .bind(attributes)
        .fetch_optional(connection)
        .await
        .map_err(|failed| error(&failed))
}

pub(super) async fn table_exists(connection: &mut PgConnection) -> Result<bool, Error> {
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_tables \
         WHERE schemaname = 'message_store_namespaces' AND tablename = 'namespace')";
    sqlx::query_scalar(EXISTS)
        .persistent(false)
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Whether a schema with this name exists, such as one that was configured by [`Config::schema`].
pub(super) async fn schema_exists(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<bool, Error> {
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)";
    sqlx::query_scalar(EXISTS)
        .persistent(false)
        .bind(schema.name())
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Drops a namespace and returns its number of messages. Waits for transactions that use it.
pub(super) async fn drop_namespace(
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
    execute(connection, schema.qualify(lock)).await?;
    let count = schema.qualify("SELECT count(*) FROM message_store.messages");
    let count: i64 = sqlx::query_scalar(AssertSqlSafe(count))
        .persistent(false)
        .fetch_one(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    let drop = format!("DROP SCHEMA {} CASCADE", schema.quoted());
    execute(connection, drop).await?;
    Ok(count.unsigned_abs())
}

pub(super) fn not_found(name: &NamespaceName) -> Error {
    Error::NamespaceNotFound {
        name: name.to_string(),
    }
}
