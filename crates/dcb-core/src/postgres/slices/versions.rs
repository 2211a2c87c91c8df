//! A new version in the place of the current one.
//!
//! The positions of both versions are compared in the transaction that swaps, under the locks of their
//! rows.

use sqlx::postgres::PgConnection;

use super::{Version, of_version};
use crate::Error;
use crate::postgres::error::error;
use crate::postgres::handler_session::handler_error;
use crate::postgres::read_model::Handler;
use crate::slices::standing::{Meet, furthest};

const CURRENT: &str = "\
    SELECT version FROM dcb.projection WHERE name = $1 AND state = 'current' AND version <> $2";
const SET_STATE: &str = "\
    UPDATE dcb.projection SET state = $3, stop_at = NULL, stop_until = NULL \
     WHERE name = $1 AND version = $2";
const DISCARD: &str = "\
    WITH slice AS (DELETE FROM dcb.projection_slice WHERE name = $1 AND version = $2), \
        member AS (DELETE FROM dcb.projection_member WHERE name = $1 AND version = $2), \
        event AS (DELETE FROM dcb.projection_event WHERE name = $1 AND version = $2) \
    DELETE FROM dcb.projection WHERE name = $1 AND version = $2";

impl Version {
    pub(super) async fn try_to_promote(
        &self,
        transaction: &mut PgConnection,
        handler: &mut impl Handler,
        meet: Meet,
    ) -> Result<bool, Error> {
        let current: Option<i32> = of_version!(query_scalar, self, CURRENT)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let before = current.map(|number| self.numbered(number));
        // The older version first, in each process, so that two promotions don't lock each other out.
        if let Some(before) = &before
            && before.lock(transaction).await?.as_deref() != Some("current")
        {
            return Ok(false);
        }
        match self.lock(transaction).await?.as_deref() {
            Some("building") => {}
            Some("current") => return Ok(true),
            // Its members have not started yet.
            None => return Ok(false),
            Some(_) => return Err(self.superseded()),
        }
        if let Some(before) = before {
            let old = before.standing(transaction).await?;
            let new = self.standing(transaction).await?;
            if !meet(&old, &new)? {
                before.stop_at(transaction, furthest(&old)).await?;
                return Ok(false);
            }
            before.set_state(transaction, "retired").await?;
        }
        self.set_state(transaction, "current").await?;
        let shown = handler.make_current(transaction).await;
        shown.map_err(|failed| handler_error(&self.title(), failed))?;
        Ok(true)
    }

    pub(super) async fn throw_away(
        &self,
        transaction: &mut PgConnection,
        handler: &mut impl Handler,
    ) -> Result<(), Error> {
        self.lock(transaction).await?;
        let discarded = of_version!(query, self, DISCARD).execute(&mut *transaction);
        discarded.await.map_err(|failed| error(&failed))?;
        let emptied = handler.reset(transaction).await;
        emptied.map_err(|failed| handler_error(&self.title(), failed))
    }

    async fn set_state(&self, transaction: &mut PgConnection, state: &str) -> Result<(), Error> {
        let set = of_version!(query, self, SET_STATE).bind(state);
        set.execute(transaction)
            .await
            .map(drop)
            .map_err(|failed| error(&failed))
    }
}
