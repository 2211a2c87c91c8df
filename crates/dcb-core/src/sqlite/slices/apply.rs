//! The transaction of a share: checkpoints first, then the handler.
//!
//! The transaction has the file's write lock. A member that has lost a slice finds another epoch there,
//! and its transaction ends without a change.

use rusqlite::{OptionalExtension as _, Transaction};

use super::claims::now;
use super::{Version, rows, run};
use crate::slices::model::divide;
use crate::slices::share::Share;
use crate::sqlite::error::error;
use crate::sqlite::read_model::{Handler, handle, handler_error, number};
use crate::{Error, SequencedEvent};

const STATE: &str = concat!(
    "SELECT state, CASE WHEN stop_until > ",
    now!(),
    " THEN CAST(stop_at AS INTEGER) END \
     FROM dcb_projection WHERE name = ?1 AND version = ?2"
);
const ADVANCE: &str = "\
    UPDATE dcb_projection_slice SET position = ?6, bookmark = ?7 \
     WHERE name = ?1 AND version = ?2 AND slice = ?3 AND epoch = ?4 AND position = ?5 \
    RETURNING parked";
const PARKED_KEYS: &str = "\
    SELECT DISTINCT key FROM dcb_projection_event WHERE name = ?1 AND version = ?2 AND parked";
const SET_ASIDE: &str = "\
    INSERT INTO dcb_projection_event (name, version, position, slice, key, parked, error) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const COUNT: &str = "\
    UPDATE dcb_projection_slice SET parked = parked + 1 \
     WHERE name = ?1 AND version = ?2 AND slice = ?3";
const STOP: &str = "\
    UPDATE dcb_projection_slice SET failure = ?5 \
     WHERE name = ?1 AND version = ?2 AND slice = ?3 AND epoch = ?4";

/// A version whose checkpoints were moved.
struct Advanced {
    has_parked: bool,
    is_current: bool,
}

impl Version {
    fn advance(&self, transaction: &Transaction<'_>, share: &Share) -> Result<Advanced, Error> {
        let (name, version) = (&self.name, self.number);
        let state: Option<(String, Option<i64>)> = transaction
            .query_row(STATE, (name, version), |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .map_err(|failed| error(&failed))?;
        let to = number(Some(share.to));
        let may_pass = |stop_at: Option<i64>| stop_at.is_none_or(|stop_at| to <= stop_at);
        let Some((state, _)) =
            state.filter(|(state, stop_at)| state != "retired" && may_pass(*stop_at))
        else {
            return Err(self.moved());
        };
        let bookmark = share.to.to_string();
        let mut has_parked = false;
        for slice in &share.slices {
            let (from, epoch) = (number(slice.stored), slice.epoch);
            let place = (name, version, slice.slice, epoch, from, to, &bookmark);
            let moved: Vec<i64> = rows(transaction, ADVANCE, place, |row| row.get(0))?;
            let parked = moved.first().ok_or_else(|| self.moved())?;
            has_parked |= *parked > 0;
        }
        Ok(Advanced {
            has_parked,
            is_current: state == "current",
        })
    }

    pub(super) fn apply(
        &self,
        transaction: &Transaction<'_>,
        handler: &mut impl Handler,
        share: &Share,
    ) -> Result<(), Error> {
        let advanced = self.advance(transaction, share)?;
        let divided = match advanced.has_parked {
            true => {
                let of_version = (&self.name, self.number);
                let keys: Vec<String> =
                    rows(transaction, PARKED_KEYS, of_version, |row| row.get(0))?;
                Some(divide(share, |key| {
                    keys.iter().any(|parked| parked == key)
                })?)
            }
            false => None,
        };
        let (events, parked) = match &divided {
            Some((events, parked)) => (events, parked.as_slice()),
            None => (&share.events, [].as_slice()),
        };
        if !events.is_empty() {
            let handled = handle(handler, transaction, events, advanced.is_current);
            handled.map_err(|failed| handler_error(&self.title(), failed))?;
        }
        for (event, key) in parked {
            self.record(transaction, share, event, key, true, None)?;
        }
        Ok(())
    }

    pub(super) fn set_aside(
        &self,
        transaction: &Transaction<'_>,
        share: &Share,
        parked: bool,
        cause: &str,
    ) -> Result<(), Error> {
        self.advance(transaction, share)?;
        for event in &share.events {
            let key = share.key.key(event)?;
            self.record(transaction, share, event, &key, parked, Some(cause))?;
        }
        Ok(())
    }

    fn record(
        &self,
        transaction: &Transaction<'_>,
        share: &Share,
        event: &SequencedEvent,
        key: &str,
        parked: bool,
        cause: Option<&str>,
    ) -> Result<(), Error> {
        let (name, version, slice) = (&self.name, self.number, share.slice_of(event)?);
        let position = number(Some(event.bookmark()));
        run(
            transaction,
            SET_ASIDE,
            (name, version, position, slice, key, parked, cause),
        )?;
        if parked {
            run(transaction, COUNT, (name, version, slice))?;
        }
        Ok(())
    }

    pub(super) fn stop(
        &self,
        transaction: &Transaction<'_>,
        share: &Share,
        cause: &str,
    ) -> Result<(), Error> {
        let (Some(slice), Some(event)) = (share.slices.first(), share.events.first()) else {
            return Ok(());
        };
        let cause = format!("the event at position {}: {cause}", event.position());
        let holder = (&self.name, self.number, slice.slice, slice.epoch, cause);
        match run(transaction, STOP, holder)? {
            1 => Ok(()),
            _ => Err(self.moved()),
        }
    }
}
