//! Kept projections from outside: their checkpoints, and a new start.

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::{Projections, Version, in_transaction, of_version};
use crate::Error;
use crate::postgres::checkpoint::bookmark_of;
use crate::postgres::error::error;
use crate::slices::ProjectionCheckpoint;
use crate::slices::checkpoint::{no_projection, no_table};

const CHECKPOINTS: &str = "SELECT name, position, bookmark FROM dcb.checkpoint ORDER BY name";
const RESET: &str =
    "UPDATE dcb.checkpoint SET position = 0, bookmark = NULL WHERE name = $1 AND $2 = 0";
const RESET_SLICES: &str = "\
    WITH event AS (DELETE FROM dcb.projection_event WHERE name = $1 AND version = $2) \
    UPDATE dcb.projection_slice SET epoch = epoch + 1, member = NULL, position = 0, \
        bookmark = NULL, parked = 0, failure = NULL \
     WHERE name = $1 AND version = $2";

impl Projections {
    /// The checkpoints of all kept projections without slices, by name.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn checkpoints(&mut self) -> Result<Vec<ProjectionCheckpoint>, Error> {
        let any = Version::new(&self.config, "any".to_owned(), 0)?;
        let rows: Vec<(String, i64, Option<String>)> =
            in_transaction!(self.session, |transaction| async {
                let rows = sqlx::query_as(any.target.sql(CHECKPOINTS))
                    .persistent(any.target.named)
                    .fetch_all(&mut *transaction);
                rows.await.map_err(|failed| error(&failed))
            })?;
        let checkpoint = |(name, position, bookmark): (_, _, Option<String>)| {
            let at = bookmark_of(position, bookmark.as_deref());
            ProjectionCheckpoint { name, at }
        };
        Ok(rows.into_iter().map(checkpoint).collect())
    }

    /// Lets a projection start over, for an operator who does not have its handler. In one transaction, the
    /// checkpoint goes back to the beginning and these tables are emptied; a name is one as in SQL, with or
    /// without a schema. Without tables the state stays, and each event is handled again.
    ///
    /// A sliced projection has a `version`. Its slices that have stopped go on, and its events that were set
    /// aside are forgotten. A runner that works meanwhile notices, and goes on from the beginning.
    /// [`ProjectionRunner::rebuild`](crate::ProjectionRunner::rebuild) is for code that has the handler.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name` if there is no such projection, or with field `tables` if a
    /// table is missing; [`Error::Fault`] from the database. Nothing has changed then.
    pub async fn reset(
        &mut self,
        name: &str,
        version: Option<u32>,
        tables: &[String],
    ) -> Result<(), Error> {
        let sliced = Version::new(&self.config, name.to_owned(), version.unwrap_or_default())?;
        in_transaction!(self.session, |transaction| async {
            let (title, sql) = match version {
                None => (name.to_owned(), RESET),
                Some(_) => {
                    // Before the slices, as each call that stops them does.
                    sliced.lock(&mut transaction).await?;
                    (sliced.title(), RESET_SLICES)
                }
            };
            let reset = of_version!(query, sliced, sql).execute(&mut *transaction);
            let reset = reset.await.map_err(|failed| error(&failed))?;
            if reset.rows_affected() == 0 {
                return Err(no_projection(&title));
            }
            for table in tables {
                empty(&mut transaction, table).await?;
            }
            Ok(())
        })
    }
}

async fn empty(transaction: &mut PgConnection, table: &str) -> Result<(), Error> {
    let found = sqlx::query_scalar("SELECT to_regclass($1)::text").persistent(false);
    let found: Option<String> = found
        .bind(table)
        .fetch_one(&mut *transaction)
        .await
        .map_err(|failed| error(&failed))?;
    let quoted = found.ok_or_else(|| no_table(table))?;
    // The SQL is safe: the database has quoted the name of a table that it has.
    let emptied = sqlx::query(AssertSqlSafe(format!("DELETE FROM {quoted}"))).persistent(false);
    let emptied = emptied.execute(transaction).await;
    emptied.map(drop).map_err(|failed| error(&failed))
}
