//! Parked events, handled in order.

use rusqlite::Transaction;

use super::{Version, rows, run};
use crate::sqlite::read_model::{Handler, handle, handler_error, number};
use crate::{Error, Position, SequencedEvent};

const NEXT: &str = "\
    SELECT position FROM dcb_projection_event \
     WHERE name = ?1 AND version = ?2 AND key = ?3 AND parked ORDER BY position LIMIT 1";
const DONE: &str = "\
    DELETE FROM dcb_projection_event \
     WHERE name = ?1 AND version = ?2 AND position = ?3 AND parked RETURNING slice";
const COUNT: &str = "\
    UPDATE dcb_projection_slice SET parked = parked - 1 \
     WHERE name = ?1 AND version = ?2 AND slice = ?3";

impl Version {
    pub(super) fn next_parked(
        &self,
        transaction: &Transaction<'_>,
        key: &str,
    ) -> Result<Option<Position>, Error> {
        let of_key = (&self.name, self.number, key);
        let next: Vec<i64> = rows(transaction, NEXT, of_key, |row| row.get(0))?;
        let next = next.first().map(|next| next.unsigned_abs());
        Ok(next.and_then(Position::new))
    }

    pub(super) fn replay_one(
        &self,
        transaction: &Transaction<'_>,
        handler: &mut impl Handler,
        event: SequencedEvent,
    ) -> Result<bool, Error> {
        let position = number(Some(event.bookmark()));
        let place = (&self.name, self.number, position);
        let slices: Vec<u32> = rows(transaction, DONE, place, |row| row.get(0))?;
        let Some(slice) = slices.first() else {
            return Ok(false);
        };
        run(transaction, COUNT, (&self.name, self.number, slice))?;
        let reacts = self.state(transaction)?.as_deref() == Some("current");
        let handled = handle(handler, transaction, &[event], reacts);
        handled.map_err(|failed| handler_error(&self.title(), failed))?;
        Ok(true)
    }
}
