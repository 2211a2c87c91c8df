//! The sequence of global positions, which must not be behind the stored messages.
//!
//! Logical replication and a data-only restore copy the messages, but not the sequence. A writer would
//! then draw positions before those of stored messages: a subscription that has passed them would miss
//! the new messages, and the writes after them would fail, because their positions are taken.
//!
//! A store notices it when it opens, and each write before it draws a position. The sequence is
//! advanced under the lock of the table, which all writers share. Writes of SQL clients do not notice
//! it.

use std::time::Duration;

use postgres_store::{INSUFFICIENT_PRIVILEGE, Schema};
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::adoption::{lock_timeout, timed_out};
use super::error::error;
use super::execute::execute;
use crate::Error;

/// Whether the sequence is at the last message or after it. The snapshot of the messages is older than
/// the reading of the sequence, so a writer that draws and commits in between does no harm.
pub(super) const IS_AHEAD: &str = "\
    coalesce(pg_sequence_last_value('message_store.messages_global_position_seq'), 0) >= \
    coalesce((SELECT m.global_position FROM message_store.messages m \
               ORDER BY m.global_position DESC LIMIT 1), 0)";

/// Advances the sequence to the last message. The lock conflicts with every INSERT, but not with reads.
pub(super) const ADVANCE: &str = "\
    LOCK TABLE message_store.messages IN SHARE ROW EXCLUSIVE MODE; \
    SELECT setval('message_store.messages_global_position_seq', max(m.global_position)) \
      FROM message_store.messages m \
    HAVING max(m.global_position) > \
           coalesce(pg_sequence_last_value('message_store.messages_global_position_seq'), 0)";

/// Advances the sequence if it is behind. Waits for running writers up to `limit`.
pub(super) async fn ensure_ahead(
    transaction: &mut PgConnection,
    schema: &Schema,
    limit: Duration,
) -> Result<(), Error> {
    let is_ahead = schema.qualify(&format!("SELECT {IS_AHEAD}"));
    let is_ahead: bool = sqlx::query_scalar(AssertSqlSafe(is_ahead))
        .persistent(false)
        .fetch_one(&mut *transaction)
        .await
        .map_err(|failed| error(&failed))?;
    if is_ahead {
        return Ok(());
    }
    let advance = lock_timeout(limit) + &schema.qualify(ADVANCE);
    let advanced = execute(transaction, advance).await;
    advanced.map_err(|failed| explain(timed_out(failed, limit), schema))
}

/// Names the way out if the login may not advance the sequence.
pub(super) fn explain(failed: Error, schema: &Schema) -> Error {
    match failed {
        Error::Fault(fault) if fault.code() == Some(INSUFFICIENT_PRIVILEGE) => {
            Error::SequenceBehind {
                schema: schema.name().to_owned(),
            }
        }
        failed => failed,
    }
}
