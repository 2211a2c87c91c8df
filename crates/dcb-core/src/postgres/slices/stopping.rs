//! Brings all slices of a version to one position, while its members work on.
//!
//! The members pass the position only after the time that is set here, so a program that dies meanwhile
//! does not hold them up. Correctness does not depend on that time: the positions are compared under the lock
//! of the version's row.

use sqlx::postgres::PgConnection;

use super::{Version, of_version};
use crate::postgres::checkpoint::bookmark_of;
use crate::postgres::error::error;
use crate::slices::standing::Standing;
use crate::{Bookmark, Error};

/// An update and no `SELECT .. FOR UPDATE`: it takes the table's lock that a version which opens excludes
/// before it takes the row's.
const LOCK: &str = "\
    UPDATE dcb.projection SET state = state WHERE name = $1 AND version = $2 RETURNING state";
const SLICES: &str = "\
    SELECT position, bookmark, epoch, failure FROM dcb.projection_slice \
     WHERE name = $1 AND version = $2 ORDER BY slice";
const STOP: &str = "\
    UPDATE dcb.projection SET stop_at = $3, stop_until = clock_timestamp() + interval '2 seconds' \
     WHERE name = $1 AND version = $2";

impl Version {
    /// Keeps the version still until the transaction ends. `None` if there is no such version.
    pub(super) async fn lock(
        &self,
        transaction: &mut PgConnection,
    ) -> Result<Option<String>, Error> {
        let locked = of_version!(query_scalar, self, LOCK).fetch_optional(transaction);
        locked.await.map_err(|failed| error(&failed))
    }

    /// All slices, by number.
    pub(super) async fn standing(
        &self,
        transaction: &mut PgConnection,
    ) -> Result<Vec<Standing>, Error> {
        let rows: Vec<(i64, Option<String>, i64, Option<String>)> =
            of_version!(query_as, self, SLICES)
                .fetch_all(transaction)
                .await
                .map_err(|failed| error(&failed))?;
        let standing = |(position, text, epoch, failure): (i64, Option<String>, i64, _)| Standing {
            at: bookmark_of(position, text.as_deref()),
            epoch,
            failure,
        };
        Ok(rows.into_iter().map(standing).collect())
    }

    /// Lets no slice pass the bookmark for two seconds.
    pub(super) async fn stop_at(
        &self,
        transaction: &mut PgConnection,
        at: Option<Bookmark>,
    ) -> Result<(), Error> {
        let stopped = of_version!(query, self, STOP).bind(at.map(|at| at.to_string()));
        let stopped = stopped.execute(transaction).await;
        stopped.map(drop).map_err(|failed| error(&failed))
    }
}
