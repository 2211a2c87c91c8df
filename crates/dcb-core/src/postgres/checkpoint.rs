//! The checkpoint of a kept projection, stored in the database of the projection's tables.
//!
//! The table belongs to the log's schema. In another database than the log's, that schema is installed
//! too, and its other tables stay empty.

use sqlx::postgres::PgConnection;

use super::config::Config;
use super::error::error;
use super::handler_session::Target;
use crate::text::{check, invalid};
use crate::{Bookmark, Error, Position};

/// The checkpoint row of one projection.
#[derive(Clone)]
pub(super) struct Checkpoint {
    target: Target,
    name: String,
}

impl Checkpoint {
    pub(super) fn new(config: &Config, name: String) -> Result<Self, Error> {
        const KNOWN: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute \
              WHERE attrelid = to_regclass('dcb.checkpoint') AND attname = 'bookmark')";
        Ok(Self {
            name: checked(name)?,
            target: Target::new(config, KNOWN)?,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Reads the checkpoint, in the caller's transaction.
    pub(super) async fn stored(
        &self,
        transaction: &mut PgConnection,
    ) -> Result<Option<Bookmark>, Error> {
        let sql = self
            .target
            .sql("SELECT position, bookmark FROM dcb.checkpoint WHERE name = $1");
        let stored: Option<(i64, Option<String>)> = sqlx::query_as(sql)
            .persistent(self.target.named)
            .bind(&self.name)
            .fetch_optional(transaction)
            .await
            .map_err(|failed| error(&failed))?;
        Ok(stored.and_then(|(position, bookmark)| bookmark_of(position, bookmark.as_deref())))
    }

    /// Moves the checkpoint in the caller's transaction. The row lock makes another runner of the
    /// same projection wait here until that transaction ends.
    ///
    /// # Errors
    /// [`Error::CheckpointMoved`] if the checkpoint is not at `from`;
    /// [`Fault::Unreachable`](crate::Fault) or [`Fault::Refused`](crate::Fault) if the statement fails.
    pub(super) async fn advance(
        &self,
        transaction: &mut PgConnection,
        from: Option<Bookmark>,
        to: Bookmark,
    ) -> Result<(), Error> {
        // The row is missing before the first batch. A runner that waits for another one's row finds
        // that it is not at 0.
        const INSERT: &str = "INSERT INTO dcb.checkpoint (name, position) VALUES ($1, 0) \
                              ON CONFLICT DO NOTHING";
        const MOVE: &str = "UPDATE dcb.checkpoint SET position = $3, bookmark = $4 \
                    WHERE name = $1 AND position = $2 AND ($5::text IS NULL OR bookmark = $5)";
        if from.is_none() {
            sqlx::query(self.target.sql(INSERT))
                .persistent(self.target.named)
                .bind(&self.name)
                .execute(&mut *transaction)
                .await
                .map_err(|failed| error(&failed))?;
        }
        let with_id = from.filter(|from| from.event_id.is_some());
        let moved = sqlx::query(self.target.sql(MOVE))
            .persistent(self.target.named)
            .bind(&self.name)
            .bind(number(from))
            .bind(number(Some(to)))
            .bind(to.to_string())
            .bind(with_id.map(|from| from.to_string()))
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if moved.rows_affected() == 1 {
            return Ok(());
        }
        Err(Error::CheckpointMoved {
            name: self.name.clone(),
            expected: from,
            actual: self.stored(transaction).await?,
        })
    }

    /// Moves the checkpoint back to the beginning, in the caller's transaction.
    pub(super) async fn reset(&self, transaction: &mut PgConnection) -> Result<(), Error> {
        let sql = "INSERT INTO dcb.checkpoint (name, position) VALUES ($1, 0) \
                   ON CONFLICT (name) DO UPDATE SET position = 0, bookmark = NULL";
        sqlx::query(self.target.sql(sql))
            .persistent(self.target.named)
            .bind(&self.name)
            .execute(transaction)
            .await
            .map(|_| ())
            .map_err(|failed| error(&failed))
    }
}

/// The name of a projection, of 1 to 255 characters.
pub(super) fn checked(name: String) -> Result<String, Error> {
    const MAX_CHARS: usize = 255;
    check(&name, MAX_CHARS).map_err(invalid("name"))?;
    Ok(name)
}

/// A checkpoint as it is stored: 0 at the beginning.
pub(super) fn bookmark_of(position: i64, text: Option<&str>) -> Option<Bookmark> {
    let position = Position::new(position.unsigned_abs())?;
    Some(Bookmark::stored(position, text))
}

pub(super) fn number(bookmark: Option<Bookmark>) -> i64 {
    let position = Bookmark::position_of(bookmark);
    i64::try_from(Position::number_or_zero(position)).unwrap_or(i64::MAX)
}
