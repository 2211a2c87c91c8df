//! The transaction of a share: checkpoints first, then the handler.
//!
//! Moving the checkpoints locks their rows. A member that has lost a slice finds another epoch there,
//! and its transaction ends without a change.

use sqlx::postgres::PgConnection;

use super::{Version, of_version};
use crate::postgres::checkpoint::number;
use crate::postgres::error::error;
use crate::postgres::handler_session::handler_error;
use crate::postgres::read_model::{Handler, handle};
use crate::slices::model::divide;
use crate::slices::share::Share;
use crate::{Error, SequencedEvent};

/// The lock of the version's row keeps a change of versions or of the number of slices out until the
/// transaction ends.
const ADVANCE: &str = "\
    WITH version AS ( \
        SELECT state FROM dcb.projection WHERE name = $1 AND version = $2 AND state <> 'retired' \
           AND (stop_at IS NULL OR stop_until <= clock_timestamp() \
                OR split_part(stop_at, '@', 1)::bigint >= $6) FOR SHARE) \
    UPDATE dcb.projection_slice slice SET position = $6, bookmark = $7 \
      FROM version, unnest($3::int[], $4::bigint[], $5::bigint[]) AS held (slice, epoch, position) \
     WHERE slice.name = $1 AND slice.version = $2 AND slice.slice = held.slice \
       AND slice.epoch = held.epoch AND slice.position = held.position \
    RETURNING slice.parked, version.state";
const PARKED_KEYS: &str = "\
    SELECT DISTINCT key FROM dcb.projection_event \
     WHERE name = $1 AND version = $2 AND parked AND slice = ANY ($3)";
const SET_ASIDE: &str = "\
    INSERT INTO dcb.projection_event (name, version, position, slice, key, parked, error) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const COUNT: &str = "\
    UPDATE dcb.projection_slice SET parked = parked + 1 \
     WHERE name = $1 AND version = $2 AND slice = $3";
const STOP: &str = "\
    UPDATE dcb.projection_slice SET failure = $5 \
     WHERE name = $1 AND version = $2 AND slice = $3 AND epoch = $4";

/// A version whose checkpoints were moved.
struct Advanced {
    has_parked: bool,
    is_current: bool,
}

impl Version {
    async fn advance(
        &self,
        transaction: &mut PgConnection,
        share: &Share,
    ) -> Result<Advanced, Error> {
        let slices = share.slices.iter();
        let numbers: Vec<i32> = slices
            .clone()
            .map(|slice| slice.slice.cast_signed())
            .collect();
        let epochs: Vec<i64> = slices.clone().map(|slice| slice.epoch).collect();
        let positions: Vec<i64> = slices.map(|slice| number(slice.stored)).collect();
        let moved: Vec<(i32, String)> = of_version!(query_as, self, ADVANCE)
            .bind(numbers)
            .bind(epochs)
            .bind(positions)
            .bind(number(Some(share.to)))
            .bind(share.to.to_string())
            .fetch_all(transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if moved.len() != share.slices.len() {
            return Err(self.moved());
        }
        Ok(Advanced {
            has_parked: moved.iter().any(|(parked, _)| *parked > 0),
            is_current: moved.iter().any(|(_, state)| state == "current"),
        })
    }

    pub(super) async fn apply(
        &self,
        transaction: &mut PgConnection,
        handler: &mut impl Handler,
        share: &Share,
    ) -> Result<(), Error> {
        let advanced = self.advance(transaction, share).await?;
        let divided = match advanced.has_parked {
            true => {
                let keys = self.parked_keys(transaction, share).await?;
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
            let handled = handle(handler, transaction, events, advanced.is_current).await;
            handled.map_err(|failed| handler_error(&self.title(), failed))?;
        }
        for (event, key) in parked {
            self.record(transaction, share, event, key, true, None)
                .await?;
        }
        Ok(())
    }

    async fn parked_keys(
        &self,
        transaction: &mut PgConnection,
        share: &Share,
    ) -> Result<Vec<String>, Error> {
        let slices = share.slices.iter().map(|slice| slice.slice.cast_signed());
        let keys = of_version!(query_scalar, self, PARKED_KEYS).bind(slices.collect::<Vec<_>>());
        keys.fetch_all(transaction)
            .await
            .map_err(|failed| error(&failed))
    }

    pub(super) async fn set_aside(
        &self,
        transaction: &mut PgConnection,
        share: &Share,
        parked: bool,
        cause: &str,
    ) -> Result<(), Error> {
        self.advance(transaction, share).await?;
        for event in &share.events {
            let key = share.key.key(event)?;
            self.record(transaction, share, event, &key, parked, Some(cause))
                .await?;
        }
        Ok(())
    }

    async fn record(
        &self,
        transaction: &mut PgConnection,
        share: &Share,
        event: &SequencedEvent,
        key: &str,
        parked: bool,
        cause: Option<&str>,
    ) -> Result<(), Error> {
        let slice = share.slice_of(event)?.cast_signed();
        let recorded = of_version!(query, self, SET_ASIDE)
            .bind(number(Some(event.bookmark())))
            .bind(slice)
            .bind(key)
            .bind(parked)
            .bind(cause.map(storable));
        recorded
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        if parked {
            let counted = of_version!(query, self, COUNT).bind(slice);
            counted
                .execute(transaction)
                .await
                .map_err(|failed| error(&failed))?;
        }
        Ok(())
    }

    pub(super) async fn stop(
        &self,
        transaction: &mut PgConnection,
        share: &Share,
        cause: &str,
    ) -> Result<(), Error> {
        let (Some(slice), Some(event)) = (share.slices.first(), share.events.first()) else {
            return Ok(());
        };
        let stopped = of_version!(query, self, STOP)
            .bind(slice.slice.cast_signed())
            .bind(slice.epoch)
            .bind(storable(&format!(
                "the event at position {}: {cause}",
                event.position()
            )))
            .execute(transaction)
            .await
            .map_err(|failed| error(&failed))?;
        match stopped.rows_affected() {
            1 => Ok(()),
            _ => Err(self.moved()),
        }
    }
}

/// PostgreSQL can't store a NUL.
fn storable(text: &str) -> String {
    text.replace('\0', "")
}
