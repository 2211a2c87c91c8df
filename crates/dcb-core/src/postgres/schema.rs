//! The installation of the log's schema, and its check when a store connects.

use postgres_store::{Schema, SchemaError};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::config::Config;
use super::design::schema;
use super::error::error;
use super::event_keys;
use super::tag_key;
use crate::Error;

/// The SQL that installs a log in the schema with this name, for a person who reviews it, or who runs
/// it where the store's role may not create objects. [`PostgresStore::connect`] finds a schema made
/// from it installed. Run it in one transaction, in a database that has no such schema.
///
/// [`guide::operating`](crate::guide::operating) has the rights that a role needs to run a store on it.
///
/// ```
/// let sql = dcb_core::postgres::schema_sql("dcb")?;
/// assert!(sql.contains("CREATE TABLE \"dcb\".event ("));
/// # Ok::<(), dcb_core::Error>(())
/// ```
///
/// [`PostgresStore::connect`]: super::PostgresStore::connect
///
/// # Errors
/// [`Error::Invalid`] with field `schema`.
pub fn schema_sql(name: &str) -> Result<String, Error> {
    Ok(schema(name)?.script())
}

/// Installs or upgrades the schema, and checks it, as [`PostgresStore::connect`] does.
///
/// [`PostgresStore::connect`]: super::PostgresStore::connect
///
/// # Errors
/// The errors of [`PostgresStore::connect`].
pub async fn install_schema(config: &Config) -> Result<(), Error> {
    ensure(config, &schema(&config.schema)?).await
}

/// Compares the schema with what this library installs, and changes nothing. Needs the right to
/// create temporary tables. Takes some 50 ms. [`check_keys`] compares the events with their keys.
///
/// [`check_keys`]: super::check_keys
///
/// # Errors
/// [`Fault::SchemaChanged`](crate::Fault) with the differences, or if the schema is missing or older;
/// [`Fault::SchemaTooNew`](crate::Fault); [`Error::Invalid`] with field `url` or `schema`;
/// [`Fault::Unreachable`](crate::Fault) or [`Fault::Refused`](crate::Fault) if the database fails.
pub async fn check_schema(config: &Config) -> Result<(), Error> {
    let schema = schema(&config.schema)?;
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let checking = async {
        let begun = watch.begin(&mut connection).await;
        let mut transaction = begun.map_err(|failed| error(&failed))?;
        let checked = schema.check(&mut transaction).await;
        checked.map_err(|failed| schema_error(&schema, failed))?;
        check_tag_key(&mut transaction, &schema).await?;
        let ended = transaction.rollback().await;
        ended.map_err(|failed| error(&failed))
    };
    watch.over(checking).await
}

/// Installs or upgrades the schema, and checks it.
pub(super) async fn ensure(config: &Config, schema: &Schema) -> Result<(), Error> {
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let installing = async {
        // All statements run in one transaction, so that a pooler keeps them in one session.
        let begun = watch.begin(&mut connection).await;
        let mut transaction = begun.map_err(|failed| error(&failed))?;
        let installed = schema.ensure(&mut transaction).await;
        installed.map_err(|failed| schema_error(schema, failed))?;
        check_tag_key(&mut transaction, schema).await?;
        event_keys::require_at_ends(&mut transaction, schema).await?;
        let committed = transaction.commit().await;
        committed.map_err(|failed| error(&failed))
    };
    watch.over(installing).await?;
    // If the message does not arrive, the server ends the session when the socket closes.
    let _ = connection.close().await;
    Ok(())
}

fn schema_error(schema: &Schema, failed: SchemaError) -> Error {
    schema.fault(failed).into()
}

/// Checks that the server computes the same keys as this library. A big-endian server does not.
async fn check_tag_key(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    const TAG: &str = "course_id:course-4711 ✓";
    const EVENT_TYPE: &str = "CourseOffered";
    let sql = schema.qualify("SELECT dcb.tag_key($1, $2)");
    let key: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
        .persistent(false)
        .bind(TAG)
        .bind(EVENT_TYPE)
        .fetch_one(transaction)
        .await
        .map_err(|failed| error(&failed))?;
    if key == tag_key(TAG, Some(EVENT_TYPE)) {
        return Ok(());
    }
    let difference = "function tag_key returns different keys than this library".to_owned();
    let differs = SchemaError::Differs(vec![difference]);
    Err(schema_error(schema, differs))
}
