//! The projections of a database, for operators.

use sqlx::postgres::PgConnection;

use super::{Version, in_transaction, of_version};
use crate::postgres::config::Config;
use crate::postgres::error::error;
use crate::postgres::handler_session::{HandlerSession, Target};
use crate::slices::model::LEASE;
use crate::{Error, Position, ProjectionState, ProjectionStatus, SetAside};

const LIST: &str = "\
    SELECT p.name, p.version, p.state, p.slices, \
        (SELECT count(*) FROM dcb.projection_member m WHERE m.name = p.name \
            AND m.version = p.version AND m.seen > clock_timestamp() - make_interval(secs => $1)), \
        (SELECT min(position) FROM dcb.projection_slice s \
          WHERE s.name = p.name AND s.version = p.version), \
        (SELECT sum(parked) FROM dcb.projection_slice s \
          WHERE s.name = p.name AND s.version = p.version) \
      FROM dcb.projection p ORDER BY p.name, p.version";
const STOPPED: &str = "\
    SELECT slice, failure FROM dcb.projection_slice \
     WHERE name = $1 AND version = $2 AND failure IS NOT NULL ORDER BY slice";
const RESUME: &str = "\
    UPDATE dcb.projection_slice SET failure = NULL \
     WHERE name = $1 AND version = $2 AND failure IS NOT NULL";
const SET_ASIDE: &str = "\
    SELECT position, key, parked, error FROM dcb.projection_event \
     WHERE name = $1 AND version = $2 ORDER BY position";

type Row = (String, i32, String, i32, i64, Option<i64>, Option<i64>);

/// The sliced projections of a database: lists them, resumes slices that have stopped, lists the events
/// that were set aside, and changes the number of slices.
pub struct Projections {
    pub(super) config: Config,
    pub(super) session: HandlerSession,
}

impl Projections {
    /// The projections in the schema of `config`.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `url` or `schema`.
    pub fn new(config: &Config) -> Result<Self, Error> {
        const KNOWN: &str = "SELECT to_regclass('dcb.projection_event') IS NOT NULL";
        Ok(Self {
            config: config.clone(),
            session: HandlerSession::new(Target::new(config, KNOWN)?),
        })
    }

    /// All versions of all projections, by name and version.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn list(&mut self) -> Result<Vec<ProjectionStatus>, Error> {
        let config = self.config.clone();
        in_transaction!(self.session, |transaction| list(&config, &mut transaction))
    }

    /// Lets the slices of a version that have stopped try again.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name` or `version`; [`Error::Fault`] from the database.
    pub async fn resume(&mut self, name: &str, version: u32) -> Result<(), Error> {
        let version = Version::new(&self.config, name.to_owned(), version)?;
        in_transaction!(self.session, |transaction| async {
            // A version that is thrown away or resized deletes its slices in another order.
            version.lock(&mut transaction).await?;
            let resumed = of_version!(query, version, RESUME).execute(&mut *transaction);
            resumed.await.map(drop).map_err(|failed| error(&failed))
        })
    }

    /// The events that a version has skipped or parked, by position.
    ///
    /// # Errors
    /// [`Error::Invalid`] with field `name` or `version`; [`Error::Fault`] from the database.
    pub async fn set_aside(&mut self, name: &str, version: u32) -> Result<Vec<SetAside>, Error> {
        let version = Version::new(&self.config, name.to_owned(), version)?;
        let rows: Vec<(i64, String, bool, Option<String>)> =
            in_transaction!(self.session, |transaction| async {
                let rows = of_version!(query_as, version, SET_ASIDE).fetch_all(&mut *transaction);
                rows.await.map_err(|failed| error(&failed))
            })?;
        let event = |(position, key, is_parked, error): (i64, String, bool, Option<String>)| {
            Some(SetAside {
                position: Position::new(position.unsigned_abs())?,
                key,
                is_parked,
                error,
            })
        };
        Ok(rows.into_iter().filter_map(event).collect())
    }
}

async fn list(
    config: &Config,
    transaction: &mut PgConnection,
) -> Result<Vec<ProjectionStatus>, Error> {
    let any = Version::new(config, "any".to_owned(), 0)?;
    let rows: Vec<Row> = sqlx::query_as(any.target.sql(LIST))
        .persistent(any.target.named)
        .bind(LEASE.as_secs_f64())
        .fetch_all(&mut *transaction)
        .await
        .map_err(|failed| error(&failed))?;
    let mut found = Vec::new();
    for (name, number, state, slices, members, position, parked) in rows {
        let version = Version::new(config, name, number.unsigned_abs())?;
        let stopped: Vec<(i32, String)> = of_version!(query_as, version, STOPPED)
            .fetch_all(&mut *transaction)
            .await
            .map_err(|failed| error(&failed))?;
        let stopped = stopped.into_iter();
        found.push(ProjectionStatus {
            name: version.name,
            version: number.unsigned_abs(),
            state: ProjectionState::of(&state),
            slices: slices.unsigned_abs(),
            members: u32::try_from(members).unwrap_or(u32::MAX),
            position: Position::new(position.unwrap_or_default().unsigned_abs()),
            parked: parked.unwrap_or_default().unsigned_abs(),
            stopped: stopped
                .map(|(slice, text)| (slice.unsigned_abs(), text))
                .collect(),
        });
    }
    Ok(found)
}

impl std::fmt::Debug for Projections {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Projections")
            .finish_non_exhaustive()
    }
}
