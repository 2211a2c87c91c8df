//! A new version in the place of the current one; see the twin for PostgreSQL.

use rusqlite::{OptionalExtension as _, Transaction};

use super::claims::now;
use super::{Version, rows, run};
use crate::slices::standing::{Meet, Standing, furthest};
use crate::sqlite::error::error;
use crate::sqlite::read_model::{Handler, bookmark_of, handler_error};
use crate::{Bookmark, Error};

const STATE: &str = "SELECT state FROM dcb_projection WHERE name = ?1 AND version = ?2";
const CURRENT: &str = "\
    SELECT version FROM dcb_projection WHERE name = ?1 AND state = 'current' AND version <> ?2";
const SLICES: &str = "\
    SELECT position, bookmark, epoch, failure FROM dcb_projection_slice \
     WHERE name = ?1 AND version = ?2 ORDER BY slice";
const SET_STATE: &str = "\
    UPDATE dcb_projection SET state = ?3, stop_at = NULL, stop_until = NULL \
     WHERE name = ?1 AND version = ?2";
const STOP: &str = concat!(
    "UPDATE dcb_projection SET stop_at = ?3, stop_until = ",
    now!(),
    " + 2 WHERE name = ?1 AND version = ?2"
);
const DISCARD: [&str; 4] = [
    "DELETE FROM dcb_projection_slice WHERE name = ?1 AND version = ?2",
    "DELETE FROM dcb_projection_member WHERE name = ?1 AND version = ?2",
    "DELETE FROM dcb_projection_event WHERE name = ?1 AND version = ?2",
    "DELETE FROM dcb_projection WHERE name = ?1 AND version = ?2",
];

impl Version {
    pub(super) fn try_to_promote(
        &self,
        transaction: &Transaction<'_>,
        handler: &mut impl Handler,
        meet: Meet,
    ) -> Result<bool, Error> {
        match self.state(transaction)?.as_deref() {
            Some("building") => {}
            Some("current") => return Ok(true),
            // Its members have not started yet.
            None => return Ok(false),
            Some(_) => return Err(self.superseded()),
        }
        let current = transaction.query_row(CURRENT, (&self.name, self.number), |row| row.get(0));
        if let Some(number) = current.optional().map_err(|failed| error(&failed))? {
            let before = self.numbered(number);
            let (old, new) = (before.standing(transaction)?, self.standing(transaction)?);
            if !meet(&old, &new)? {
                before.stop_at(transaction, furthest(&old))?;
                return Ok(false);
            }
            run(transaction, SET_STATE, (&self.name, number, "retired"))?;
        }
        run(transaction, SET_STATE, (&self.name, self.number, "current"))?;
        let shown = handler.make_current(transaction);
        shown.map_err(|failed| handler_error(&self.title(), failed))?;
        Ok(true)
    }

    pub(super) fn throw_away(
        &self,
        transaction: &Transaction<'_>,
        handler: &mut impl Handler,
    ) -> Result<(), Error> {
        for sql in DISCARD {
            run(transaction, sql, (&self.name, self.number))?;
        }
        let emptied = handler.reset(transaction);
        emptied.map_err(|failed| handler_error(&self.title(), failed))
    }

    /// The state; `None` if there is no such version.
    pub(super) fn state(&self, transaction: &Transaction<'_>) -> Result<Option<String>, Error> {
        let state = transaction.query_row(STATE, (&self.name, self.number), |row| row.get(0));
        state.optional().map_err(|failed| error(&failed))
    }

    /// All slices, by number.
    pub(super) fn standing(&self, transaction: &Transaction<'_>) -> Result<Vec<Standing>, Error> {
        rows(transaction, SLICES, (&self.name, self.number), |row| {
            let text: Option<String> = row.get(1)?;
            Ok(Standing {
                at: bookmark_of(row.get(0)?, text.as_deref()),
                epoch: row.get(2)?,
                failure: row.get(3)?,
            })
        })
    }

    /// Lets no slice pass the bookmark for two seconds.
    pub(super) fn stop_at(
        &self,
        transaction: &Transaction<'_>,
        at: Option<Bookmark>,
    ) -> Result<(), Error> {
        let at = at.map(|at| at.to_string());
        run(transaction, STOP, (&self.name, self.number, at)).map(drop)
    }
}
