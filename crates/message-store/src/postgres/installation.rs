//! Installing and checking the schema of a store without opening it.

use postgres_store::{Schema, Watch};
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;

use super::adoption;
use super::config::Config;
use super::design::schema;
use super::error::error;
use super::lock_holders::name_holders;
use super::schema::{check_installed, ensure, script};
use crate::Error;

/// The SQL that installs the schema with this name, for a person who reviews it, or who runs it
/// where the store's role may not create objects. [`PostgresStore::connect`] finds a schema made
/// from it installed. For the default schema, `message_store`, the SQL also creates the role
/// `message_store` and grants its rights. A login that runs a store must be a member of that role, and
/// have SELECT on `migration` and SELECT, INSERT, UPDATE and DELETE on `checkpoint`.
///
/// Run it in one transaction, in a database that has no such schema.
///
/// ```
/// let sql = message_store::postgres::schema_sql("message_store")?;
/// assert!(sql.contains("CREATE FUNCTION \"message_store\".write_message("));
/// # Ok::<(), message_store::Error>(())
/// ```
///
/// [`PostgresStore::connect`]: super::PostgresStore::connect
///
/// # Errors
/// [`Error::Invalid`] with field `schema`.
pub fn schema_sql(name: &str) -> Result<String, Error> {
    Ok(script(&schema(name)?))
}

/// Installs, upgrades or adopts the schema, and checks it, as [`PostgresStore::connect`] does.
///
/// [`PostgresStore::connect`]: super::PostgresStore::connect
///
/// # Errors
/// The errors of [`PostgresStore::connect`].
pub async fn install_schema(config: &Config) -> Result<(), Error> {
    let config = config.clone().capped();
    install(&config, &schema(&config.schema)?).await
}

/// Compares the schema with what this library installs, and changes nothing. Needs the right to
/// create temporary tables. Takes some 50 ms.
///
/// # Errors
/// [`Fault::SchemaChanged`](crate::Fault) with the differences, or if the schema is missing or older;
/// [`Fault::SchemaTooNew`](crate::Fault); [`Error::Invalid`] with field `url` or `schema`;
/// [`Fault::Unreachable`](crate::Fault) or [`Fault::Refused`](crate::Fault) if the database fails.
pub async fn check_schema(config: &Config) -> Result<(), Error> {
    let schema = schema(&config.schema)?;
    let (mut connection, watch) = config.administrator::<Error>().await?;
    check(&mut connection, &watch, &schema).await
}

pub(super) async fn check(
    connection: &mut PgConnection,
    watch: &Watch,
    schema: &Schema,
) -> Result<(), Error> {
    let checking = async {
        let begun = watch.begin(connection).await;
        let mut transaction = begun.map_err(|failed| error(&failed))?;
        check_installed(&mut transaction, schema).await?;
        let ended = transaction.rollback().await;
        ended.map_err(|failed| error(&failed))
    };
    watch.over(checking).await
}

pub(super) async fn install(config: &Config, schema: &Schema) -> Result<(), Error> {
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let installing = async {
        // One transaction, so that a pooler keeps its statements in one session.
        let begun = watch.begin(&mut connection).await;
        let mut transaction = begun.map_err(|failed| error(&failed))?;
        if let Err(failed) = ensure(&mut transaction, schema, config).await {
            return Err(name_holders(config, schema, failed).await);
        }
        let committed = transaction.commit().await;
        committed.map_err(|failed| error(&failed))?;
        if config.adopt_message_db {
            adoption::end(&mut connection, schema, config.write_timeout).await?;
        }
        Ok(())
    };
    watch.over(installing).await?;
    // If the closing message is lost, the server ends the session anyway.
    let _ = connection.close().await;
    Ok(())
}
