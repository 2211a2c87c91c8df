//! Parked events, handled in order.
//!
//! Each event is one transaction that locks its slice. So the holder of the slice parks the next event of
//! the key behind those that wait, or handles it after all of them.

use sqlx::postgres::PgConnection;

use super::{Version, of_version};
use crate::postgres::checkpoint::number;
use crate::postgres::error::error;
use crate::postgres::handler_session::handler_error;
use crate::postgres::read_model::{Handler, handle};
use crate::{Error, Position, SequencedEvent};

const NEXT: &str = "\
    SELECT min(position) FROM dcb.projection_event \
     WHERE name = $1 AND version = $2 AND key = $3 AND parked";
const LOCK: &str = "\
    WITH version AS (SELECT state FROM dcb.projection WHERE name = $1 AND version = $2 FOR SHARE) \
    UPDATE dcb.projection_slice slice SET parked = parked - 1 FROM version \
     WHERE slice.name = $1 AND slice.version = $2 AND slice.slice = \
        (SELECT slice FROM dcb.projection_event \
          WHERE name = $1 AND version = $2 AND position = $3 AND parked) \
    RETURNING version.state";
const DONE: &str = "\
    DELETE FROM dcb.projection_event \
     WHERE name = $1 AND version = $2 AND position = $3 AND parked";

impl Version {
    pub(super) async fn next_parked(
        &self,
        transaction: &mut PgConnection,
        key: &str,
    ) -> Result<Option<Position>, Error> {
        let next = of_version!(query_scalar, self, NEXT).bind(key);
        let next: Option<i64> = next
            .fetch_one(transaction)
            .await
            .map_err(|failed| error(&failed))?;
        Ok(next.and_then(|next| Position::new(next.unsigned_abs())))
    }

    pub(super) async fn replay_one(
        &self,
        transaction: &mut PgConnection,
        handler: &mut impl Handler,
        event: SequencedEvent,
    ) -> Result<bool, Error> {
        let position = number(Some(event.bookmark()));
        let locked: Option<String> = of_version!(query_scalar, self, LOCK)
            .bind(position)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let Some(state) = locked else {
            return Ok(false);
        };
        let deleted = of_version!(query, self, DONE).bind(position);
        let deleted = deleted.execute(&mut *transaction).await;
        if deleted.map_err(|failed| error(&failed))?.rows_affected() == 0 {
            // Another program was faster. The transaction must not count the event twice.
            return Err(self.moved());
        }
        let handled = handle(handler, transaction, &[event], state == "current").await;
        handled.map_err(|failed| handler_error(&self.title(), failed))?;
        Ok(true)
    }
}
