//! The store's schema: its files, and its check when a store opens.

use postgres_store::{Design, Schema, SchemaError};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::error::error;
use super::{adoption, interface_role};
use crate::text::{check, invalid, malformed};
use crate::{Error, hash_64};

/// The schema that clients of Message DB expect.
pub(super) const MESSAGE_STORE: &str = "message_store";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(include_str!(concat!("../../schema/postgres/", $path, ".sql"))),*]
    };
}

static DESIGN: Design = Design {
    schema: MESSAGE_STORE,
    // `MSUR` in ASCII. Arbitrary, but every version of this crate must use the same key.
    lock: 1_297_306_962,
    versions: &[
        files![
            "tables/migration",
            "functions/category",
            "functions/id",
            "functions/cardinal_id",
            "versions/1/is_category",
            "functions/hash_64",
            "functions/message_store_version",
            "functions/setting_is_on",
            "functions/category_lock",
            "tables/messages",
            "tables/messages_compression",
            "tables/checkpoint",
            "indexes/messages_id",
            "indexes/messages_stream",
            "indexes/messages_category",
            "types/message",
            "functions/acquire_lock",
            "functions/announce",
            "functions/horizon",
            "functions/stream_version",
            "functions/write_message",
            "functions/require_sql_condition",
            "functions/require_read_committed",
            "functions/check_consumer_group",
            "functions/get_stream_messages",
            "functions/get_category_messages",
            "functions/get_last_stream_message",
            "functions/get_all_messages",
            "functions/head",
            "functions/write_one",
            "functions/write_batch",
            "views/type_summary",
            "views/stream_summary",
            "views/stream_type_summary",
            "views/type_stream_summary",
            "views/category_type_summary",
            "views/type_category_summary",
        ],
        files!["functions/is_category"],
    ],
};

/// The files of the first version, in the order of their installation.
pub(super) fn files() -> &'static [&'static str] {
    DESIGN.versions[0]
}

/// The schema with this name. 1 to 63 letters, digits and underscores, without a digit or `pg_` at
/// the start.
pub(super) fn schema(name: &str) -> Result<Schema, Error> {
    const MAX_BYTES: usize = 63;
    check(name, MAX_BYTES).map_err(invalid("schema"))?;
    Schema::new(&DESIGN, name).map_err(|reason| invalid("schema")(malformed(reason)))
}

/// The lock key of a category. Must equal the result of `functions/category_lock`.
pub(super) fn lock_key(schema: &Schema, category: &str) -> i64 {
    if is_interface(schema) {
        hash_64(category)
    } else {
        hash_64(&format!("{}.{category}", schema.quoted()))
    }
}

/// Installs, updates or adopts the schema and checks it, within the caller's READ COMMITTED
/// transaction.
pub(super) async fn ensure(
    transaction: &mut PgConnection,
    schema: &Schema,
    config: &Config,
) -> Result<(), Error> {
    if adoption::is_foreign(transaction, schema).await? {
        if !config.adopt_message_db {
            let schema = schema.name().to_owned();
            return Err(Error::ForeignSchema { schema });
        }
        adoption::adopt(transaction, schema, config.write_timeout).await?;
    }
    let ensured = ensure_ours(transaction, schema).await;
    ensured.map_err(interface_role::name_rights)
}

async fn ensure_ours(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    schema.ensure(transaction).await.map_err(schema_error)?;
    // Clients of Message DB use the default schema only. Rights on other schemas are up to their
    // owners.
    if is_interface(schema) {
        interface_role::ensure(transaction, schema).await?;
    }
    Ok(())
}

/// Fails unless the database's encoding is UTF8.
pub(super) async fn require_utf8(transaction: &mut PgConnection) -> Result<(), Error> {
    let checked = postgres_store::require_utf8(transaction).await;
    checked.map_err(schema_error)
}

/// Compares the schema with a fresh installation, within the caller's READ COMMITTED transaction.
pub(super) async fn check_installed(
    transaction: &mut PgConnection,
    schema: &Schema,
) -> Result<(), Error> {
    schema.check(transaction).await.map_err(schema_error)?;
    if is_interface(schema) && !interface_role::has_rights(transaction, schema).await? {
        let lacks = "the role message_store is missing, or lacks rights".to_owned();
        return Err(Error::SchemaMismatch {
            differences: vec![lacks],
        });
    }
    Ok(())
}

/// The statements that install the schema.
pub(super) fn script(schema: &Schema) -> String {
    let mut script = schema.script();
    if is_interface(schema) {
        script.push('\n');
        script += &schema.qualify(interface_role::PRIVILEGES);
    }
    script
}

fn is_interface(schema: &Schema) -> bool {
    schema.name() == MESSAGE_STORE
}

fn schema_error(failed: SchemaError) -> Error {
    match failed {
        SchemaError::Failed(failed) => error(&failed),
        SchemaError::Encoding(message) => Error::Database {
            code: None,
            message: message.into(),
        },
        SchemaError::Differs(differences) => Error::SchemaMismatch { differences },
        SchemaError::TooNew { found, supported } => Error::SchemaTooNew { found, supported },
    }
}

pub(super) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), Error> {
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
    done.map(|_| ()).map_err(|failed| error(&failed))
}
