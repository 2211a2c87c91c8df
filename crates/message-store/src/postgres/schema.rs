//! The installation of the schema, and its check when a store opens.

use postgres_store::{Schema, SchemaError};
use sqlx::postgres::PgConnection;

use super::config::Config;
use super::design::is_interface;
use super::{adoption, interface_role, sequence};
use crate::{Error, Fault, hash_64};

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
    ensure_ours(transaction, schema).await?;
    sequence::ensure_ahead(transaction, schema, config.write_timeout).await
}

async fn ensure_ours(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    schema
        .ensure(transaction)
        .await
        .map_err(|failed| schema_error(schema, failed))?;
    // Clients of Message DB use the default schema only. Rights on other schemas are up to their
    // owners.
    if is_interface(schema) {
        interface_role::ensure(transaction, schema).await?;
    }
    Ok(())
}

/// Compares the schema with a fresh installation, within the caller's READ COMMITTED transaction.
pub(super) async fn check_installed(
    transaction: &mut PgConnection,
    schema: &Schema,
) -> Result<(), Error> {
    if adoption::is_foreign(transaction, schema).await? {
        let schema = schema.name().to_owned();
        return Err(Error::ForeignSchema { schema });
    }
    schema
        .check(transaction)
        .await
        .map_err(|failed| schema_error(schema, failed))?;
    if is_interface(schema) && !interface_role::has_rights(transaction, schema).await? {
        let lacks = "the role message_store is missing, or lacks rights".to_owned();
        return Err(Fault::schema_changed(schema.name(), vec![lacks]).into());
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

fn schema_error(schema: &Schema, failed: SchemaError) -> Error {
    schema.fault(failed).into()
}
