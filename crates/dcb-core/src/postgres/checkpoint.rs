//! The checkpoint of a kept projection, stored in the database of the projection's tables.
//!
//! The table belongs to the log's schema. In another database than the log's, that schema is installed
//! too, and its other tables stay empty.

use postgres_store::{BEGIN, Hosts, Schema, SchemaError, connect, in_task};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};

use super::config::Config;
use super::error::error;
use super::schema::schema;
use crate::text::{check, invalid};
use crate::{Bookmark, Error, Position};

/// The checkpoint row of one projection.
#[derive(Clone)]
pub(super) struct Checkpoint {
    hosts: Hosts,
    schema: Schema,
    name: String,
    /// Whether statements may be prepared under a name; not behind a pooler.
    named: bool,
}

impl Checkpoint {
    pub(super) fn new(config: &Config, name: String) -> Result<Self, Error> {
        const MAX_CHARS: usize = 255;
        check(&name, MAX_CHARS).map_err(invalid("name"))?;
        Ok(Self {
            hosts: config.primary::<Error>()?.hosts().clone(),
            schema: schema(&config.schema)?,
            name,
            named: !config.transaction_pooling,
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Opens a connection. Installs the schema if it has no such table, and inserts the row if it is
    /// missing.
    pub(super) async fn connect(&self) -> Result<PgConnection, Error> {
        // In a task, because the installation locks out other installers.
        let checkpoint = self.clone();
        let connecting = async move {
            let connected = checkpoint.try_connect().await;
            connected.map_err(|failed| checkpoint.schema.fault(failed).into())
        };
        in_task(connecting).await
    }

    async fn try_connect(&self) -> Result<PgConnection, SchemaError> {
        let mut connection = connect(&self.hosts).await?;
        let mut transaction = connection.begin_with(BEGIN).await?;
        // Usually the table is up to date, and the connection need not wait for the installers' lock.
        let known = self.sql(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_attribute \
              WHERE attrelid = to_regclass('dcb.checkpoint') AND attname = 'bookmark')",
        );
        let known: bool = sqlx::query_scalar(known)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        if !known {
            self.schema.ensure(&mut transaction).await?;
        }
        sqlx::query(self.sql(
            "INSERT INTO dcb.checkpoint (name, position) VALUES ($1, 0) ON CONFLICT DO NOTHING",
        ))
        .persistent(false)
        .bind(&self.name)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(connection)
    }

    /// Reads the checkpoint, in a separate transaction.
    pub(super) async fn read(
        &self,
        connection: &mut PgConnection,
    ) -> Result<Option<Bookmark>, Error> {
        let mut transaction = connection.begin().await.map_err(|failed| error(&failed))?;
        let stored = self.stored(&mut transaction).await?;
        transaction
            .commit()
            .await
            .map_err(|failed| error(&failed))?;
        Ok(stored)
    }

    async fn stored(&self, connection: &mut PgConnection) -> Result<Option<Bookmark>, Error> {
        let sql = self.sql("SELECT position, bookmark FROM dcb.checkpoint WHERE name = $1");
        let stored: Option<(i64, Option<String>)> = sqlx::query_as(sql)
            .persistent(self.named)
            .bind(&self.name)
            .fetch_optional(connection)
            .await
            .map_err(|failed| error(&failed))?;
        Ok(stored.and_then(|(position, bookmark)| {
            let position = Position::new(position.unsigned_abs())?;
            Some(Bookmark::stored(position, bookmark.as_deref()))
        }))
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
        let sql = "UPDATE dcb.checkpoint SET position = $3, bookmark = $4 \
                    WHERE name = $1 AND position = $2 AND ($5::text IS NULL OR bookmark = $5)";
        let with_id = from.filter(|from| from.event_id.is_some());
        let moved = sqlx::query(self.sql(sql))
            .persistent(self.named)
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
        sqlx::query(
            self.sql("UPDATE dcb.checkpoint SET position = 0, bookmark = NULL WHERE name = $1"),
        )
        .persistent(self.named)
        .bind(&self.name)
        .execute(transaction)
        .await
        .map(|_| ())
        .map_err(|failed| error(&failed))
    }

    fn sql(&self, text: &str) -> AssertSqlSafe<String> {
        // The SQL is safe: only the schema's name is inserted.
        AssertSqlSafe(self.schema.qualify(text))
    }
}

fn number(bookmark: Option<Bookmark>) -> i64 {
    let position = Bookmark::position_of(bookmark);
    i64::try_from(Position::number_or_zero(position)).unwrap_or(i64::MAX)
}
