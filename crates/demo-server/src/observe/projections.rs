//! The versions of the sliced projections in the events' database, whose members run in other programs.
//!
//! A look asks the database, so these metrics are only at `/metrics`, not in the server's own series.

use std::time::{Duration, Instant};

use dcb_core::{Bookmark, Error, EventStore as _, Position, ProjectionState, ProjectionStatus};
use parking_lot::Mutex;

use super::measured::Measured;
use crate::stores::Stores;

const POSITION: &str = "registrar_projection_position";
const LAG: &str = "registrar_projection_lag_positions";
const RATE: &str = "registrar_projection_rate";
const LEFT: &str = "registrar_projection_left_seconds";
const CURRENT: &str = "registrar_projection_current";
const MEMBERS: &str = "registrar_projection_members";
const PARKED: &str = "registrar_projection_parked_events";
const STOPPED: &str = "registrar_projection_stopped_slices";

pub(super) const GAUGES: [(&str, &str); 8] = [
    (
        POSITION,
        "All slices of the version have passed the events up to this position",
    ),
    (LAG, "Positions from there to the head of the log"),
    (
        RATE,
        "Positions that the version has passed in a second, since an earlier look",
    ),
    (
        LEFT,
        "Time until the version reaches the head at this rate; no value while it stands still",
    ),
    (
        CURRENT,
        "1 if readers use the version, 0 if it is built beside that one",
    ),
    (
        MEMBERS,
        "Members of the version that gave a sign of life lately",
    ),
    (PARKED, "Parked events of the version"),
    (STOPPED, "Slices of the version that have stopped"),
];

/// A database that does not answer for this long leaves its metrics out.
const LIMIT: Duration = Duration::from_secs(1);
/// A rate is measured over this time at least, once there are such looks.
const SPAN: Duration = Duration::from_secs(1);

/// The last looks, for rates.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<LastTwo>);

#[derive(Debug, Default)]
struct LastTwo {
    before: Option<Look>,
    last: Option<Look>,
}

/// The versions at one time.
#[derive(Clone, Debug)]
struct Look {
    at: Instant,
    versions: Vec<ProjectionStatus>,
}

/// A version and its progress.
#[derive(Debug)]
pub(super) struct Measure {
    of: ProjectionStatus,
    lag: u64,
    /// `None` at the first look.
    rate: Option<f64>,
    left: Option<Duration>,
}

impl Looks {
    /// Looks at the versions that are current or built. Empty if the database does not answer.
    pub(super) async fn look(&self, stores: &Stores) -> Vec<Measure> {
        let looked = tokio::time::timeout(LIMIT, read(stores)).await;
        let Ok(Ok(Some((look, head)))) = looked else {
            return Vec::new();
        };
        let before = self.0.lock().advance(look.clone());
        let measured = look.versions.into_iter().map(|of| {
            let rate = before.as_ref().and_then(|before| before.rate(&of, look.at));
            let lag = head
                .map_or(0, Position::get)
                .saturating_sub(Position::number_or_zero(of.position));
            let left = match (lag, head, rate) {
                (0, ..) => Some(Duration::ZERO),
                (_, Some(head), Some(rate)) => of.time_left(head, rate),
                _ => None,
            };
            Measure {
                of,
                lag,
                rate,
                left,
            }
        });
        measured.collect()
    }
}

async fn read(stores: &Stores) -> Result<Option<(Look, Option<Position>)>, Error> {
    let Some(projections) = &stores.projections else {
        return Ok(None);
    };
    // Read first, so that no position is beyond it for long.
    let head = Bookmark::position_of(stores.events.head().await?);
    let mut versions = projections.lock().await.list().await?;
    versions.retain(|version| version.state != ProjectionState::Retired);
    let at = Instant::now();
    Ok(Some((Look { at, versions }, head)))
}

impl LastTwo {
    /// Keeps a look, and returns the one to compare it with.
    fn advance(&mut self, look: Look) -> Option<Look> {
        match &self.last {
            Some(last) if look.at.duration_since(last.at) < SPAN => {
                self.before.clone().or_else(|| Some(last.clone()))
            }
            _ => {
                self.before = self.last.replace(look);
                self.before.clone()
            }
        }
    }
}

impl Look {
    /// The rate of a version since this look.
    fn rate(&self, now: &ProjectionStatus, at: Instant) -> Option<f64> {
        let same =
            |before: &&ProjectionStatus| (&before.name, before.version) == (&now.name, now.version);
        let before = self.versions.iter().find(same)?;
        Some(now.rate(before, at.duration_since(self.at)))
    }
}

/// Adds all of them.
pub(super) fn add(measured: &mut Measured, versions: &[Measure]) {
    for Measure {
        of,
        lag,
        rate,
        left,
    } in versions
    {
        let version = of.version.to_string();
        let labels = [("projection", &*of.name), ("version", &version)];
        for (metric, value) in [
            (POSITION, Position::number_or_zero(of.position) as f64),
            (LAG, *lag as f64),
            (CURRENT, f64::from(of.state == ProjectionState::Current)),
            (MEMBERS, f64::from(of.members)),
            (PARKED, of.parked as f64),
            (STOPPED, of.stopped.len() as f64),
        ] {
            measured.add(metric, &labels, value);
        }
        if let Some(rate) = rate {
            measured.add(RATE, &labels, *rate);
        }
        if let Some(left) = left {
            measured.add(LEFT, &labels, left.as_secs_f64());
        }
    }
}
