//! The role that clients of Message DB log in as.

use postgres_store::Schema;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::error::error;
use super::execute::execute;
use crate::{Error, Fault};

/// Creates the role if it is missing, and grants it its rights.
pub(super) const PRIVILEGES: &str =
    include_str!("../../schema/postgres/privileges/message_store.sql");

/// The rights of the role that an older installation, a dump without roles or an administrator may
/// lack.
const HAS_RIGHTS: &str = "\
    SELECT coalesce((SELECT \
        has_schema_privilege(r.oid, 'message_store', 'USAGE') \
        AND has_table_privilege(r.oid, 'message_store.messages', 'SELECT') \
        AND has_table_privilege(r.oid, 'message_store.messages', 'INSERT') \
        AND has_table_privilege(r.oid, 'message_store.type_summary', 'SELECT') \
        AND has_sequence_privilege(r.oid, 'message_store.messages_global_position_seq', 'USAGE') \
      FROM pg_catalog.pg_roles r WHERE r.rolname = 'message_store'), false)";

/// Whether the role exists and has its rights.
pub(super) async fn has_rights(
    connection: &mut PgConnection,
    schema: &Schema,
) -> Result<bool, Error> {
    sqlx::query_scalar(AssertSqlSafe(schema.qualify(HAS_RIGHTS)))
        .persistent(false)
        .fetch_one(connection)
        .await
        .map_err(|failed| error(&failed))
}

/// Gives the role its rights. If the connecting role may not do that, says so in the log.
pub(super) async fn ensure(transaction: &mut PgConnection, schema: &Schema) -> Result<(), Error> {
    if has_rights(transaction, schema).await? {
        return Ok(());
    }
    // Two processes must not grant at once: the second would fail with a concurrent update.
    let locked = schema.lock(transaction).await;
    locked.map_err(|failed| error(&failed))?;
    let savepoint = transaction.begin().await;
    let mut savepoint = savepoint.map_err(|failed| error(&failed))?;
    let ended = match execute(&mut savepoint, schema.qualify(PRIVILEGES)).await {
        Ok(()) => savepoint.commit().await,
        Err(Error::Fault(Fault::Refused(_) | Fault::Aborted(_) | Fault::Locked(_))) => {
            savepoint.rollback().await
        }
        Err(failed) => return Err(failed),
    };
    ended.map_err(|failed| error(&failed))?;
    if !has_rights(transaction, schema).await? {
        tracing::warn!(
            "clients of Message DB can't use the messages: the role message_store or its rights \
             are missing, and this login can't grant them; let an administrator run the SQL of \
             message_store::postgres::schema_sql"
        );
    }
    Ok(())
}
