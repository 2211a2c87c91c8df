//! The sessions that hold a lock of the table of messages, for the error of an opening that gave up.

use postgres_store::Schema;
use sqlx::AssertSqlSafe;

use super::config::Config;
use super::error::error;
use crate::{Error, Fault, Reason};

/// Other users' states are NULL, unless the login may see them.
const HOLDERS: &str = "\
    SELECT DISTINCT concat('session ', a.pid, ' (', concat_ws(', ', \
           'user ' || a.usename, nullif(a.application_name, ''), a.state, \
           'transaction since ' || date_trunc('second', a.xact_start)), ')') \
      FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid \
     WHERE l.granted AND l.relation = to_regclass('message_store.messages') \
       AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d \
                          WHERE d.datname = current_database()) \
       AND a.pid <> pg_backend_pid() ORDER BY 1";

/// Names the holders, if the opening timed out and they still hold the lock.
pub(super) async fn name_holders(config: &Config, schema: &Schema, failed: Error) -> Error {
    let Error::Fault(Fault::TimedOut { limit, .. }) = &failed else {
        return failed;
    };
    match holders(config, schema).await {
        Ok(holders) if !holders.is_empty() => {
            let (table, holders) = (schema.qualify("message_store.messages"), holders.join(", "));
            let reason =
                format!("open waited {limit:?} for the lock of table {table}, held by {holders}");
            Fault::Locked(Reason::new(reason)).into()
        }
        _ => failed,
    }
}

async fn holders(config: &Config, schema: &Schema) -> Result<Vec<String>, Error> {
    // The connection that waited is in a failed transaction.
    let (mut connection, watch) = config.administrator::<Error>().await?;
    let asking = async {
        sqlx::query_scalar(AssertSqlSafe(schema.qualify(HOLDERS)))
            .persistent(false)
            .fetch_all(&mut connection)
            .await
            .map_err(|failed| error(&failed))
    };
    watch.over(asking).await
}
