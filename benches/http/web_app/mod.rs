//! The load scripts of the published event store's web application: its four runs, their requests,
//! and the ramp of their users.
//!
//! A user draws one of the run's requests at random, sends it and pauses. Every request has new
//! ids: `prefix-<ms>-<random>`.

mod append;
mod append_if;
mod project;
mod random;
mod read;
pub(crate) mod request;

use bench::load::{Ramp, Stage};
use std::time::Duration;

pub(crate) use random::Random;
pub(crate) use request::{Drawn, Found, Item, NewEvent, Request};

/// One of the four runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    /// Appends of 1 to 50 events, an eighth of them under a condition that holds, an eighth under
    /// one that fails.
    Append,
    /// Appends of 1 to 20 events, all but a seventh under conditions that hold.
    AppendIf,
    /// Queries that find nothing, and one query for all events.
    Read,
    /// Counts by one to three projectors.
    Project,
}

impl Scenario {
    /// All runs, in the published order.
    pub(crate) const ALL: [Self; 4] = [Self::Append, Self::AppendIf, Self::Read, Self::Project];

    /// Its name on the published page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Append => "Append",
            Self::AppendIf => "Append-If",
            Self::Read => "Read",
            Self::Project => "Project",
        }
    }

    /// The number of kinds of requests. All kinds are equally likely.
    pub(crate) fn kinds(self) -> usize {
        match self {
            Self::Append => append::KINDS,
            Self::AppendIf => append_if::KINDS,
            Self::Read => read::KINDS,
            Self::Project => project::KINDS,
        }
    }

    /// Draws a request and the pause after it.
    pub(crate) fn draw(self, random: &mut Random) -> Drawn {
        let kind = random.below(self.kinds());
        self.make(kind, random)
    }

    /// A request of a kind, counted from 0.
    pub(crate) fn make(self, kind: usize, random: &mut Random) -> Drawn {
        match self {
            Self::Append => append::make(kind, random),
            Self::AppendIf => append_if::make(kind, random),
            Self::Read => read::make(kind, random),
            Self::Project => project::make(kind, random),
        }
    }

    /// The request that prepares the log for the run; `None` if the run needs no preparation.
    pub(crate) fn needs(self) -> Option<Request> {
        (self == Self::Append).then(append::conflicting_event)
    }
}

/// The ramp of users: 4 min 20 s, up to 100 users.
pub(crate) fn ramp() -> Ramp {
    let stage = |seconds, users| Stage {
        takes: Duration::from_secs(seconds),
        users,
    };
    Ramp::new([
        stage(20, 10),
        stage(30, 10),
        stage(30, 50),
        stage(60, 50),
        stage(30, 100),
        stage(60, 100),
        stage(30, 0),
    ])
}
