//! Members and their slices. A slice that changes hands gets a new epoch.
//!
//! Each transaction on a version locks the version's row first, then members, then slices. So the end of
//! a member and an operator's call wait for each other, where they would else end in a deadlock.

use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::{Version, of_version};
use crate::postgres::checkpoint::bookmark_of;
use crate::postgres::error::error;
use crate::postgres::handler_session::handler_error;
use crate::postgres::read_model::Handler;
use crate::slices::model::{Held, HeldSlice, LEASE, share_of};
use crate::{Error, Position};

/// Two first versions at once must not both become current.
const LOCK: &str = "LOCK TABLE dcb.projection IN SHARE ROW EXCLUSIVE MODE";
const OPEN: &str = "\
    INSERT INTO dcb.projection (name, version, slices, state) \
    SELECT $1, $2, $3, CASE WHEN EXISTS \
        (SELECT FROM dcb.projection WHERE name = $1 AND state = 'current') \
        THEN 'building' ELSE 'current' END \
    ON CONFLICT (name, version) DO NOTHING RETURNING state";
const OPEN_SLICES: &str = "\
    INSERT INTO dcb.projection_slice (name, version, slice, epoch) \
    SELECT name, version, generate_series(0, slices - 1), 0 FROM dcb.projection \
     WHERE name = $1 AND version = $2 ON CONFLICT DO NOTHING";

/// A sign of life, and the end of members that gave none.
const SIGN: &str = "\
    WITH locked AS ( \
        SELECT name, version FROM dcb.projection WHERE name = $1 AND version = $2 FOR SHARE), \
    sign AS ( \
        INSERT INTO dcb.projection_member (name, version, member, seen) \
        SELECT name, version, $3, clock_timestamp() FROM locked \
        ON CONFLICT (name, version, member) DO UPDATE SET seen = excluded.seen) \
    DELETE FROM dcb.projection_member member USING locked \
     WHERE member.name = locked.name AND member.version = locked.version AND member.member <> $3 \
       AND member.seen < clock_timestamp() - make_interval(secs => $4)";
/// Takes slices up to the member's quota. The rows of a transaction that still runs are left to the
/// next beat.
const TAKE: &str = "\
    UPDATE dcb.projection_slice SET member = $3, epoch = epoch + 1 \
     WHERE name = $1 AND version = $2 AND slice = ANY (ARRAY( \
        SELECT slice FROM dcb.projection_slice \
         WHERE name = $1 AND version = $2 AND (member IS NULL OR member NOT IN \
            (SELECT member FROM dcb.projection_member WHERE name = $1 AND version = $2)) \
         ORDER BY slice \
         LIMIT greatest(0, $4 - (SELECT count(*) FROM dcb.projection_slice \
            WHERE name = $1 AND version = $2 AND member = $3)) \
         FOR UPDATE SKIP LOCKED))";
const STATE: &str = "\
    SELECT state, slices, CASE WHEN stop_until > clock_timestamp() THEN stop_at END, \
        (SELECT version FROM dcb.projection \
          WHERE name = $1 AND version <> $2 AND state = 'current'), \
        (SELECT count(*) FROM dcb.projection_member WHERE name = $1 AND version = $2), \
        (SELECT coalesce(min(position) FILTER (WHERE failure IS NULL), 9223372036854775807) \
           FROM dcb.projection_slice WHERE name = $1 AND version = $2) \
      FROM dcb.projection WHERE name = $1 AND version = $2";
const HELD: &str = "\
    SELECT slice, epoch, position, bookmark FROM dcb.projection_slice \
     WHERE name = $1 AND version = $2 AND member = $3 AND failure IS NULL ORDER BY slice";
const GIVE_BACK: &str = "\
    WITH locked AS ( \
        SELECT name, version FROM dcb.projection WHERE name = $1 AND version = $2 FOR SHARE) \
    UPDATE dcb.projection_slice slice SET member = NULL, epoch = epoch + 1 FROM locked \
     WHERE slice.name = locked.name AND slice.version = locked.version AND slice.slice = ANY (ARRAY( \
        SELECT slice FROM dcb.projection_slice \
         WHERE name = $1 AND version = $2 AND member = $3 ORDER BY slice OFFSET $4))";
const LEAVE: &str =
    "DELETE FROM dcb.projection_member WHERE name = $1 AND version = $2 AND member = $3";

/// The state, the number of slices, where to stop, the current version if it is another, the number of
/// members, and the position of the slice that is last.
type State = (String, i32, Option<String>, Option<i32>, i64, i64);

impl Version {
    pub(super) async fn open(
        &self,
        transaction: &mut PgConnection,
        handler: &mut impl Handler,
        slices: u32,
    ) -> Result<(), Error> {
        let slices = i32::try_from(slices.max(1)).unwrap_or(i32::MAX);
        let locked = sqlx::query(self.target.sql(LOCK)).persistent(false);
        locked
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let opened: Option<String> = of_version!(query_scalar, self, OPEN)
            .bind(slices)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let numbered = of_version!(query, self, OPEN_SLICES);
        numbered
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if opened.as_deref() == Some("current") {
            let shown = handler.make_current(transaction).await;
            shown.map_err(|failed| handler_error(&self.title(), failed))?;
        }
        Ok(())
    }

    pub(super) async fn beat(
        &self,
        transaction: &mut PgConnection,
        member: Uuid,
    ) -> Result<Held, Error> {
        let signed = of_version!(query, self, SIGN)
            .bind(member.to_string())
            .bind(LEASE.as_secs_f64());
        signed
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let state: Option<State> = of_version!(query_as, self, STATE)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let state = state.filter(|(state, ..)| state != "retired");
        let (_, total, stop_at, current, members, floor) =
            state.ok_or_else(|| self.superseded())?;
        let total = total.unsigned_abs();
        let quota = share_of(total, members);
        let taken = of_version!(query, self, TAKE)
            .bind(member.to_string())
            .bind(i64::from(quota));
        taken
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let held: Vec<(i32, i64, i64, Option<String>)> = of_version!(query_as, self, HELD)
            .bind(member.to_string())
            .fetch_all(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let slice =
            |(slice, epoch, position, bookmark): (i32, i64, i64, Option<String>)| HeldSlice {
                slice: slice.unsigned_abs(),
                epoch,
                stored: bookmark_of(position, bookmark.as_deref()),
            };
        let mut held = Held {
            slices: held.into_iter().map(slice).collect(),
            quota: quota as usize,
            total,
            floor: Position::new(floor.unsigned_abs()),
            stop_at: stop_at.and_then(|text| text.parse().ok()),
        };
        if let Some(current) = current {
            let current = self.numbered(current).standing(transaction).await?;
            held.stay_behind(&current);
        }
        Ok(held)
    }

    pub(super) async fn give_back(
        &self,
        transaction: &mut PgConnection,
        member: Uuid,
        keep: usize,
    ) -> Result<(), Error> {
        let given = of_version!(query, self, GIVE_BACK)
            .bind(member.to_string())
            .bind(i64::try_from(keep).unwrap_or(i64::MAX));
        given
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if keep == 0 {
            let left = of_version!(query, self, LEAVE).bind(member.to_string());
            left.execute(transaction)
                .await
                .map_err(|failed| error(&failed))?;
        }
        Ok(())
    }
}
