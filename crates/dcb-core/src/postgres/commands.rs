//! Reading the command log. `dcb.keep_commands` writes it.

use super::PostgresStore;
use super::row;
use crate::{Error, Position, RecordedCommand};

impl PostgresStore {
    pub(super) async fn kept_commands(
        &self,
        after: Option<Position>,
        limit: u64,
    ) -> Result<Vec<RecordedCommand>, Error> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let after = number(Position::number_or_zero(after));
        let sql = &self.shared.statements.commands;
        let statement = || sqlx::query(sql.clone()).bind(after).bind(number(limit));
        let rows = self
            .shared
            .readers
            .read(|readers| readers.rows(statement))
            .await?;
        rows.iter().map(row::command).collect()
    }
}
