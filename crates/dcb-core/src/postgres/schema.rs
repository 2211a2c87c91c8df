//! The log's schema: its files, and its check when a store connects.

use postgres_store::{BEGIN, Design, Schema, SchemaError};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::config::Config;
use super::error::error;
use super::event_keys;
use super::tag_key;
use crate::text::{check, invalid};
use crate::{Error, Problem};

static DESIGN: Design = Design {
    schema: "dcb",
    // Appends and listeners use other numbers.
    lock: 1_145_262_643,
    versions: &[
        &[
            include_str!("../../schema/postgres/tables/migration.sql"),
            include_str!("../../schema/postgres/tables/event.sql"),
            include_str!("../../schema/postgres/tables/event_tag.sql"),
            include_str!("../../schema/postgres/tables/tracking.sql"),
            include_str!("../../schema/postgres/tables/command.sql"),
            include_str!("../../schema/postgres/indexes/event_type_position.sql"),
            include_str!("../../schema/postgres/functions/tag_key.sql"),
            include_str!("../../schema/postgres/functions/tag_keys.sql"),
            include_str!("../../schema/postgres/functions/rarest_tag.sql"),
            include_str!("../../schema/postgres/functions/first_match.sql"),
            include_str!("../../schema/postgres/versions/1/refusals.sql"),
            include_str!("../../schema/postgres/versions/1/append.sql"),
            include_str!("../../schema/postgres/functions/keep_commands.sql"),
        ],
        &[include_str!(
            "../../schema/postgres/versions/2/refusals.sql"
        )],
        &[
            include_str!("../../schema/postgres/functions/refusals.sql"),
            include_str!("../../schema/postgres/versions/3/append.sql"),
        ],
        &[
            include_str!("../../schema/postgres/tables/checkpoint.sql"),
            include_str!("../../schema/postgres/functions/append.sql"),
            include_str!("../../schema/postgres/functions/keep_times.sql"),
        ],
    ],
    rights: "a role that runs the store needs USAGE on the schema, and SELECT, INSERT, UPDATE and \
             DELETE on its tables",
};

/// The schema with this name. 1 to 63 letters, digits and underscores, without a digit or `pg_` at
/// the start.
pub(super) fn schema(name: &str) -> Result<Schema, Error> {
    const MAX_CHARS: usize = 63;
    check(name, MAX_CHARS).map_err(invalid("schema"))?;
    Schema::new(&DESIGN, name).map_err(|reason| {
        invalid("schema")(Problem::Malformed {
            reason: reason.to_owned(),
        })
    })
}

/// The SQL that installs a log in the schema with this name, for a person who reviews it, or who runs
/// it where the store's role may not create objects. [`PostgresStore::connect`] finds a schema made
/// from it installed. Run it in one transaction, in a database that has no such schema.
///
/// The README has the rights that a role needs to run a store on it.
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
    let mut connection = config.administrator::<Error>().await?;
    let begun = connection.begin_with(BEGIN).await;
    let mut transaction = begun.map_err(|failed| error(&failed))?;
    let checked = schema.check(&mut transaction).await;
    checked.map_err(|failed| schema_error(&schema, failed))?;
    check_tag_key(&mut transaction, &schema).await?;
    let ended = transaction.rollback().await;
    ended.map_err(|failed| error(&failed))
}

/// Installs or upgrades the schema, and checks it.
pub(super) async fn ensure(config: &Config, schema: &Schema) -> Result<(), Error> {
    let mut connection = config.administrator::<Error>().await?;
    // All statements run in one transaction, so that a pooler keeps them in one session.
    let mut transaction = connection
        .begin_with(BEGIN)
        .await
        .map_err(|failed| error(&failed))?;
    schema
        .ensure(&mut transaction)
        .await
        .map_err(|failed| schema_error(schema, failed))?;
    check_tag_key(&mut transaction, schema).await?;
    event_keys::require_at_ends(&mut transaction, schema).await?;
    transaction
        .commit()
        .await
        .map_err(|failed| error(&failed))?;
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
