//! Checkpoints of consumers.

use super::PostgresStore;
use super::read::number;
use super::row;
use crate::{Bookmark, Checkpoint, Error};

impl PostgresStore {
    pub(super) async fn read_checkpoint(&self, consumer: &str) -> Result<Option<Bookmark>, Error> {
        crate::Limits::check_consumer(consumer)?;
        let sql = &self.shared.statements.checkpoint;
        let statement = || sqlx::query(sql.clone()).bind(consumer);
        let rows = self.rows(statement).await?;
        rows.first().map(row::checkpoint).transpose()
    }

    pub(super) async fn read_checkpoints(&self) -> Result<Vec<Checkpoint>, Error> {
        let statement = || sqlx::query(self.shared.statements.all_checkpoints.clone());
        let rows = self.rows(statement).await?;
        rows.iter().map(row::checkpoint_of_consumer).collect()
    }

    pub(super) async fn write_checkpoint(
        &self,
        consumer: &str,
        handled: Bookmark,
    ) -> Result<Bookmark, Error> {
        crate::Limits::check_consumer(consumer)?;
        let sql = &self.shared.statements.save_checkpoint;
        // `rows` may send the statement twice. That is safe, because the position never decreases.
        let statement = || {
            sqlx::query(sql.clone())
                .bind(consumer)
                .bind(number(handled.position.get()))
                .bind(handled.text())
        };
        let rows = self.rows(statement).await?;
        rows.first().map_or(Ok(handled), row::checkpoint)
    }

    pub(super) async fn remove_checkpoint(&self, consumer: &str) -> Result<bool, Error> {
        crate::Limits::check_consumer(consumer)?;
        let sql = &self.shared.statements.delete_checkpoint;
        let statement = sqlx::query(sql.clone()).bind(consumer);
        Ok(self.readers()?.primary().execute(statement).await? > 0)
    }
}
