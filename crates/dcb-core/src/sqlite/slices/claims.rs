//! Members and their slices. A slice that changes hands gets a new epoch.

use rusqlite::{OptionalExtension as _, Transaction};
use uuid::Uuid;

use super::{Version, rows, run};
use crate::slices::model::{Held, HeldSlice, LEASE, share_of};
use crate::sqlite::error::error;
use crate::sqlite::read_model::{Handler, bookmark_of, handler_error};
use crate::{Error, Position};

/// The time in seconds since 1970.
macro_rules! now {
    () => {
        "((julianday('now') - 2440587.5) * 86400.0)"
    };
}
pub(super) use now;

const OPEN: &str = "\
    INSERT INTO dcb_projection (name, version, slices, state) \
    SELECT ?1, ?2, ?3, CASE WHEN EXISTS \
        (SELECT 1 FROM dcb_projection WHERE name = ?1 AND state = 'current') \
        THEN 'building' ELSE 'current' END \
    WHERE true ON CONFLICT DO NOTHING RETURNING state";
const OPEN_SLICES: &str = "\
    WITH RECURSIVE numbers (number, slices) AS ( \
        SELECT 0, slices FROM dcb_projection WHERE name = ?1 AND version = ?2 \
        UNION ALL SELECT number + 1, slices FROM numbers WHERE number + 1 < slices) \
    INSERT INTO dcb_projection_slice (name, version, slice, epoch) \
    SELECT ?1, ?2, number, 0 FROM numbers WHERE true ON CONFLICT DO NOTHING";
const SIGN: &str = concat!(
    "INSERT INTO dcb_projection_member (name, version, member, seen) VALUES (?1, ?2, ?3, ",
    now!(),
    ") ON CONFLICT DO UPDATE SET seen = excluded.seen"
);
const BURY: &str = concat!(
    "DELETE FROM dcb_projection_member WHERE name = ?1 AND version = ?2 AND member <> ?3 \
        AND seen < ",
    now!(),
    " - ?4"
);
const TAKE: &str = "\
    UPDATE dcb_projection_slice SET member = ?3, epoch = epoch + 1 \
     WHERE name = ?1 AND version = ?2 AND slice IN ( \
        SELECT slice FROM dcb_projection_slice \
         WHERE name = ?1 AND version = ?2 AND (member IS NULL OR member NOT IN \
            (SELECT member FROM dcb_projection_member WHERE name = ?1 AND version = ?2)) \
         ORDER BY slice \
         LIMIT max(0, ?4 - (SELECT count(*) FROM dcb_projection_slice \
            WHERE name = ?1 AND version = ?2 AND member = ?3)))";
const STATE: &str = concat!(
    "SELECT state, slices, CASE WHEN stop_until > ",
    now!(),
    " THEN stop_at END, \
        (SELECT version FROM dcb_projection \
          WHERE name = ?1 AND version <> ?2 AND state = 'current'), \
        (SELECT count(*) FROM dcb_projection_member WHERE name = ?1 AND version = ?2), \
        (SELECT coalesce(min(position) FILTER (WHERE failure IS NULL), 9223372036854775807) \
           FROM dcb_projection_slice WHERE name = ?1 AND version = ?2) \
      FROM dcb_projection WHERE name = ?1 AND version = ?2"
);
const HELD: &str = "\
    SELECT slice, epoch, position, bookmark FROM dcb_projection_slice \
     WHERE name = ?1 AND version = ?2 AND member = ?3 AND failure IS NULL ORDER BY slice";
const GIVE_BACK: &str = "\
    UPDATE dcb_projection_slice SET member = NULL, epoch = epoch + 1 \
     WHERE name = ?1 AND version = ?2 AND slice IN ( \
        SELECT slice FROM dcb_projection_slice \
         WHERE name = ?1 AND version = ?2 AND member = ?3 ORDER BY slice LIMIT -1 OFFSET ?4)";
const LEAVE: &str =
    "DELETE FROM dcb_projection_member WHERE name = ?1 AND version = ?2 AND member = ?3";

/// The state, the number of slices, where to stop, the current version if it is another, the number of
/// members, and the position of the slice that is last.
type State = (String, u32, Option<String>, Option<u32>, i64, i64);

impl Version {
    pub(super) fn open(
        &self,
        transaction: &Transaction<'_>,
        handler: &mut impl Handler,
        slices: u32,
    ) -> Result<(), Error> {
        let opened = (&self.name, self.number, slices.max(1));
        let opened: Vec<String> = rows(transaction, OPEN, opened, |row| row.get(0))?;
        run(transaction, OPEN_SLICES, (&self.name, self.number))?;
        if opened.iter().any(|state| state == "current") {
            let shown = handler.make_current(transaction);
            shown.map_err(|failed| handler_error(&self.title(), failed))?;
        }
        Ok(())
    }

    pub(super) fn beat(&self, transaction: &Transaction<'_>, member: Uuid) -> Result<Held, Error> {
        let member = member.to_string();
        let (name, number) = (&self.name, self.number);
        run(transaction, SIGN, (name, number, &member))?;
        run(
            transaction,
            BURY,
            (name, number, &member, LEASE.as_secs_f64()),
        )?;
        let state = transaction.query_row(STATE, (name, number), |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        });
        let state: Option<State> = state.optional().map_err(|failed| error(&failed))?;
        let state = state.filter(|(state, ..)| state != "retired");
        let (_, total, stop_at, current, members, floor) =
            state.ok_or_else(|| self.superseded())?;
        let quota = share_of(total, members);
        run(transaction, TAKE, (name, number, &member, quota))?;
        let slices = rows(transaction, HELD, (name, number, &member), |row| {
            let text: Option<String> = row.get(3)?;
            Ok(HeldSlice {
                slice: row.get(0)?,
                epoch: row.get(1)?,
                stored: bookmark_of(row.get(2)?, text.as_deref()),
            })
        })?;
        let mut held = Held {
            slices,
            quota: quota as usize,
            total,
            floor: Position::new(floor.unsigned_abs()),
            stop_at: stop_at.and_then(|text| text.parse().ok()),
        };
        if let Some(current) = current {
            held.stay_behind(&self.numbered(current).standing(transaction)?);
        }
        Ok(held)
    }

    pub(super) fn give_back(
        &self,
        transaction: &Transaction<'_>,
        member: Uuid,
        keep: usize,
    ) -> Result<(), Error> {
        let (member, kept) = (member.to_string(), i64::try_from(keep).unwrap_or(i64::MAX));
        run(
            transaction,
            GIVE_BACK,
            (&self.name, self.number, &member, kept),
        )?;
        if keep == 0 {
            run(transaction, LEAVE, (&self.name, self.number, &member))?;
        }
        Ok(())
    }
}
