//! Kept projections from outside; see the twin for PostgreSQL.

use rusqlite::Transaction;

use super::{Projections, Version, rows, run};
use crate::Error;
use crate::slices::ProjectionCheckpoint;
use crate::slices::checkpoint::{no_projection, no_table};
use crate::sqlite::read_model::bookmark_of;

const CHECKPOINTS: &str = "SELECT name, position, bookmark FROM dcb_checkpoint ORDER BY name";
const RESET: &str = "UPDATE dcb_checkpoint SET position = 0, bookmark = NULL WHERE name = ?1";
const RESET_SLICES: &str = "\
    UPDATE dcb_projection_slice SET epoch = epoch + 1, member = NULL, position = 0, bookmark = NULL, \
        parked = 0, failure = NULL \
     WHERE name = ?1 AND version = ?2";
const FORGET: &str = "DELETE FROM dcb_projection_event WHERE name = ?1 AND version = ?2";
const TABLE: &str =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?1)";

impl Projections {
    /// The checkpoints of all kept projections without slices, by name.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn checkpoints(&mut self) -> Result<Vec<ProjectionCheckpoint>, Error> {
        let found = self.any.transact(|_, transaction, _| {
            rows(transaction, CHECKPOINTS, (), |row| {
                let text: Option<String> = row.get(2)?;
                Ok(ProjectionCheckpoint {
                    name: row.get(0)?,
                    at: bookmark_of(row.get(1)?, text.as_deref()),
                })
            })
        });
        found.await
    }

    /// Lets a projection start over, for an operator who does not have its handler. In one transaction, the
    /// checkpoint goes back to the beginning and these tables are emptied. Without tables the state stays, and each
    /// event is handled again.
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
        let (name, tables) = (name.to_owned(), tables.to_vec());
        let reset = self.any.transact(move |_, transaction, _| {
            let (title, reset) = match version {
                None => (name.clone(), run(transaction, RESET, [&name])?),
                Some(number) => {
                    let version = Version { name, number };
                    run(transaction, FORGET, (&version.name, number))?;
                    let slices = run(transaction, RESET_SLICES, (&version.name, number))?;
                    (version.title(), slices)
                }
            };
            if reset == 0 {
                return Err(no_projection(&title));
            }
            tables
                .iter()
                .try_for_each(|table| empty(transaction, table))
        });
        reset.await
    }
}

fn empty(transaction: &Transaction<'_>, table: &str) -> Result<(), Error> {
    let found = rows(transaction, TABLE, [table], |row| row.get::<_, String>(0))?;
    let name = found.first().ok_or_else(|| no_table(table))?;
    let sql = format!("DELETE FROM \"{}\"", name.replace('"', "\"\""));
    run(transaction, &sql, ()).map(drop)
}
