//! Checkpoints of consumers.

use super::PostgresStore;
use super::read::{number, position};
use crate::text::check_consumer;
use crate::{Error, GlobalPosition};

impl PostgresStore {
    pub(super) async fn read_checkpoint(
        &self,
        consumer: &str,
    ) -> Result<Option<GlobalPosition>, Error> {
        check_consumer(consumer)?;
        let sql = &self.shared.statements.checkpoint;
        let statement = || sqlx::query(sql.clone()).bind(consumer);
        position(&self.pools()?.primary.rows(statement).await?)
    }

    pub(super) async fn write_checkpoint(
        &self,
        consumer: &str,
        handled: GlobalPosition,
    ) -> Result<GlobalPosition, Error> {
        check_consumer(consumer)?;
        let sql = &self.shared.statements.save_checkpoint;
        // `rows` may send the statement twice. That is safe, because the position never decreases.
        let statement = || {
            sqlx::query(sql.clone())
                .bind(consumer)
                .bind(number(handled.get()))
        };
        let rows = self.pools()?.primary.rows(statement).await?;
        Ok(position(&rows)?.unwrap_or(handled))
    }

    pub(super) async fn remove_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        check_consumer(consumer)?;
        let sql = &self.shared.statements.delete_checkpoint;
        let statement = sqlx::query(sql.clone()).bind(consumer);
        Ok(self.pools()?.primary.execute(statement).await? > 0)
    }
}
