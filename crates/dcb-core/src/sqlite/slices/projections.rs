//! The projections of a file, for operators.

use std::time::Duration;

use rusqlite::Transaction;

use super::claims::now;
use super::{SlicedReadModel, Version, rows, run};
use crate::slices::model::LEASE;
use crate::slices::standing::{Wait, furthest, resized};
use crate::sqlite::config::Config;
use crate::sqlite::read_model::{Handler, number};
use crate::{
    Error, HandlerError, Position, ProjectionState, ProjectionStatus, SequencedEvent, SetAside,
    SliceKey,
};

const LIST: &str = concat!(
    "SELECT p.name, p.version, p.state, p.slices, \
        (SELECT count(*) FROM dcb_projection_member m \
          WHERE m.name = p.name AND m.version = p.version AND m.seen > ",
    now!(),
    " - ?1), \
        (SELECT min(position) FROM dcb_projection_slice s \
          WHERE s.name = p.name AND s.version = p.version), \
        (SELECT sum(parked) FROM dcb_projection_slice s \
          WHERE s.name = p.name AND s.version = p.version) \
      FROM dcb_projection p ORDER BY p.name, p.version"
);
const STOPPED: &str = "\
    SELECT slice, failure FROM dcb_projection_slice \
     WHERE name = ?1 AND version = ?2 AND failure IS NOT NULL ORDER BY slice";
const RESUME: &str = "\
    UPDATE dcb_projection_slice SET failure = NULL \
     WHERE name = ?1 AND version = ?2 AND failure IS NOT NULL";
const SET_ASIDE: &str = "\
    SELECT position, key, parked, error FROM dcb_projection_event \
     WHERE name = ?1 AND version = ?2 ORDER BY position";
const CLEAR: &str = "DELETE FROM dcb_projection_slice WHERE name = ?1 AND version = ?2";
const INSERT: &str = "\
    INSERT INTO dcb_projection_slice (name, version, slice, epoch, position, bookmark) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const SET: &str = "\
    UPDATE dcb_projection SET slices = ?3, stop_at = NULL, stop_until = NULL \
     WHERE name = ?1 AND version = ?2";
const MOVE: &str = "\
    UPDATE dcb_projection_event SET slice = ?4 WHERE name = ?1 AND version = ?2 AND position = ?3";
const COUNT: &str = "\
    UPDATE dcb_projection_slice AS slice SET parked = (SELECT count(*) FROM dcb_projection_event event \
        WHERE event.name = ?1 AND event.version = ?2 AND event.slice = slice.slice AND parked) \
     WHERE name = ?1 AND version = ?2";

/// The sliced projections of a file: lists them, resumes slices that have stopped, lists the events that
/// were set aside, and changes the number of slices.
#[derive(Debug)]
pub struct Projections {
    pub(super) any: SlicedReadModel<NoHandler>,
}

/// The calls for operators handle no events.
#[derive(Clone, Debug)]
pub(super) struct NoHandler;

impl Handler for NoHandler {
    fn handle(
        &mut self,
        _transaction: &Transaction<'_>,
        _events: &[SequencedEvent],
    ) -> Result<(), HandlerError> {
        Ok(())
    }

    fn reset(&mut self, _transaction: &Transaction<'_>) -> Result<(), HandlerError> {
        Ok(())
    }
}

impl Projections {
    /// The projections in the file of `config`.
    ///
    /// # Errors
    /// Those of [`SqliteReadModel::new`](crate::sqlite::SqliteReadModel::new).
    pub fn new(config: Config) -> Result<Self, Error> {
        Ok(Self {
            any: SlicedReadModel::new(config, "any", 0, NoHandler)?,
        })
    }

    /// All versions of all projections, by name and version.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn list(&mut self) -> Result<Vec<ProjectionStatus>, Error> {
        self.any
            .transact(|_, transaction, _| list(transaction))
            .await
    }

    /// Lets the slices of a version that have stopped try again.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn resume(&mut self, name: &str, version: u32) -> Result<(), Error> {
        let name = name.to_owned();
        self.any
            .transact(move |_, transaction, _| run(transaction, RESUME, (name, version)).map(drop))
            .await
    }

    /// The events that a version has skipped or parked, by position.
    ///
    /// # Errors
    /// [`Error::Fault`] from the database.
    pub async fn set_aside(&mut self, name: &str, version: u32) -> Result<Vec<SetAside>, Error> {
        let name = name.to_owned();
        let found = self.any.transact(move |_, transaction, _| {
            rows(transaction, SET_ASIDE, (name, version), |row| {
                let position: i64 = row.get(0)?;
                let event = (row.get(1)?, row.get(2)?, row.get(3)?);
                Ok((position, event))
            })
        });
        let event = |(position, (key, is_parked, error)): (i64, (String, bool, Option<String>))| {
            Some(SetAside {
                position: Position::new(position.unsigned_abs())?,
                key,
                is_parked,
                error,
            })
        };
        Ok(found.await?.into_iter().filter_map(event).collect())
    }

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
        let wait = Wait::new("resize of a projection", limit);
        loop {
            let version = Version {
                name: name.to_owned(),
                number: version,
            };
            let resized = self
                .any
                .transact(move |_, transaction, _| version.try_to_resize(transaction, slices));
            if resized.await? {
                return Ok(());
            }
            wait.pause().await?;
        }
    }
}

impl Version {
    /// Returns whether the slices stood at positions that fit.
    fn try_to_resize(&self, transaction: &Transaction<'_>, slices: u32) -> Result<bool, Error> {
        let (name, version) = (&self.name, self.number);
        let before = self.standing(transaction)?;
        let Some((places, epoch)) = resized(&self.title(), &before, slices)? else {
            self.stop_at(transaction, furthest(&before))?;
            return Ok(false);
        };
        run(transaction, CLEAR, (name, version))?;
        for (slice, at) in (0..slices).zip(places) {
            let bookmark = at.map(|at| at.to_string());
            let place = (name, version, slice, epoch, number(at), bookmark);
            run(transaction, INSERT, place)?;
        }
        run(transaction, SET, (name, version, slices))?;
        let events = rows(transaction, SET_ASIDE, (name, version), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        for (position, key) in events {
            let slice = SliceKey::slice_of(&key, slices);
            run(transaction, MOVE, (name, version, position, slice))?;
        }
        run(transaction, COUNT, (name, version))?;
        Ok(true)
    }
}

fn list(transaction: &Transaction<'_>) -> Result<Vec<ProjectionStatus>, Error> {
    let mut found = rows(transaction, LIST, [LEASE.as_secs_f64()], |row| {
        let (position, parked): (Option<i64>, Option<i64>) = (row.get(5)?, row.get(6)?);
        Ok(ProjectionStatus {
            name: row.get(0)?,
            version: row.get(1)?,
            state: ProjectionState::of(&row.get::<_, String>(2)?),
            slices: row.get(3)?,
            members: row.get(4)?,
            position: Position::new(position.unwrap_or_default().unsigned_abs()),
            parked: parked.unwrap_or_default().unsigned_abs(),
            stopped: Vec::new(),
        })
    })?;
    for version in &mut found {
        let of_version = (&version.name, version.version);
        version.stopped = rows(transaction, STOPPED, of_version, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    }
    Ok(found)
}
