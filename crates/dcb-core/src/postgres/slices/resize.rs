//! Changes the number of slices of a version.

use std::time::Duration;

use sqlx::postgres::PgConnection;

use super::projections::Projections;
use super::{Version, in_transaction, of_version};
use crate::postgres::checkpoint::number;
use crate::postgres::error::error;
use crate::slices::standing::{Wait, furthest, resized};
use crate::{Error, SliceKey};

const CLEAR: &str = "DELETE FROM dcb.projection_slice WHERE name = $1 AND version = $2";
const INSERT: &str = "\
    INSERT INTO dcb.projection_slice (name, version, slice, epoch, position, bookmark) \
    SELECT $1, $2, slice, $3, position, bookmark \
      FROM unnest($4::int[], $5::bigint[], $6::text[]) AS place (slice, position, bookmark)";
const SET: &str = "\
    UPDATE dcb.projection SET slices = $3, stop_at = NULL, stop_until = NULL \
     WHERE name = $1 AND version = $2";
const PARKED: &str = "\
    SELECT position, key FROM dcb.projection_event WHERE name = $1 AND version = $2";
const MOVE: &str = "\
    UPDATE dcb.projection_event SET slice = $4 WHERE name = $1 AND version = $2 AND position = $3";
const COUNT: &str = "\
    UPDATE dcb.projection_slice slice SET parked = (SELECT count(*) FROM dcb.projection_event event \
        WHERE event.name = $1 AND event.version = $2 AND event.slice = slice.slice AND parked) \
     WHERE name = $1 AND version = $2";

impl Projections {
    /// Changes the number of slices, without starting over. Members go on with the new slices. Doubling
    /// takes effect at once; other changes wait until the members have brought the slices that are
    /// merged to one position.
    ///
    /// # Errors
    /// [`Fault::TimedOut`](crate::Fault) if that takes longer than `limit`, as when no member runs, and
    /// [`Error::Invalid`] with field `slices` if it is 0, if a slice has stopped, or if there is no
    /// such version; nothing has changed. [`Error::Fault`] from the database.
    pub async fn resize(
        &mut self,
        name: &str,
        version: u32,
        slices: u32,
        limit: Duration,
    ) -> Result<(), Error> {
        let version = Version::new(&self.config, name.to_owned(), version)?;
        let wait = Wait::new("resize of a projection", limit);
        loop {
            let resized = in_transaction!(self.session, |transaction| version
                .try_to_resize(&mut transaction, slices))?;
            if resized {
                return Ok(());
            }
            wait.pause().await?;
        }
    }
}

impl Version {
    /// Returns whether the slices stood at positions that fit.
    async fn try_to_resize(
        &self,
        transaction: &mut PgConnection,
        slices: u32,
    ) -> Result<bool, Error> {
        self.lock(transaction).await?;
        let before = self.standing(transaction).await?;
        let Some((places, epoch)) = resized(&self.title(), &before, slices)? else {
            self.stop_at(transaction, furthest(&before)).await?;
            return Ok(false);
        };
        let cleared = of_version!(query, self, CLEAR);
        cleared
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let inserted = of_version!(query, self, INSERT)
            .bind(epoch)
            .bind((0..slices.cast_signed()).collect::<Vec<_>>())
            .bind(places.iter().map(|at| number(*at)).collect::<Vec<_>>())
            .bind(
                places
                    .iter()
                    .map(|at| at.map(|at| at.to_string()))
                    .collect::<Vec<_>>(),
            );
        inserted
            .execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let set = of_version!(query, self, SET).bind(slices.cast_signed());
        set.execute(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        self.move_parked(transaction, slices).await?;
        Ok(true)
    }

    async fn move_parked(&self, transaction: &mut PgConnection, slices: u32) -> Result<(), Error> {
        let events: Vec<(i64, String)> = of_version!(query_as, self, PARKED)
            .fetch_all(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        for (position, key) in events {
            let slice = SliceKey::slice_of(&key, slices).cast_signed();
            let moved = of_version!(query, self, MOVE).bind(position).bind(slice);
            moved
                .execute(&mut *transaction)
                .await
                .map_err(|failed| error(&failed))?;
        }
        let counted = of_version!(query, self, COUNT).execute(transaction);
        counted.await.map(drop).map_err(|failed| error(&failed))
    }
}
