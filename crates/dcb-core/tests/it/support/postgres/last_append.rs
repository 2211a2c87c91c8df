//! Which statement a store sent for its last append, as the server saw it.

use dcb_core::postgres::Config;

use super::sql::Sql;

/// A statement that appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Sent {
    /// `dcb.append`.
    Function,
    /// `dcb.append`, followed by `dcb.keep_commands`.
    FunctionWithCommands,
    /// An INSERT that looks up no key.
    Insert,
    /// An INSERT that looks up one key per probe.
    InsertByKey,
}

impl Sent {
    pub(crate) fn is_optimistic(self) -> bool {
        !matches!(self, Self::Function | Self::FunctionWithCommands)
    }
}

/// The statement of the last append to the log. No two stores may append at the same time.
pub(crate) async fn last_append(log: &Config, sql: &mut Sql) -> Sent {
    // The server shows only the start of a long statement, so the patterns match the start.
    let (insert, function) = (
        format!("pg_try_advisory_xact_lock(%\"{}\".event", log.schema),
        format!("FROM \"{}\".append(", log.schema),
    );
    let last = format!(
        "SELECT query FROM pg_stat_activity \
          WHERE pid <> pg_backend_pid() AND (query LIKE '%{insert}%' OR query LIKE '%{function}%') \
          ORDER BY query_start DESC LIMIT 1"
    );
    let query = &sql.row(&last).await[0];
    let has = |part: &str| query.contains(part);
    match () {
        () if has(&function) && has(".keep_commands(") => Sent::FunctionWithCommands,
        () if has(&function) => Sent::Function,
        () if has(".event_tag t") => Sent::InsertByKey,
        () => Sent::Insert,
    }
}
