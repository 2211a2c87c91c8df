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
mod request;

use bench::load::{Ramp, Stage};
use std::time::Duration;

pub(crate) use random::Random;
pub(crate) use request::{Drawn, Found, Item, NewEvent, Projector, Request};

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
    pub const ALL: [Self; 4] = [Self::Append, Self::AppendIf, Self::Read, Self::Project];

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

#[cfg(test)]
mod tests {
    use super::{Random, Request, Scenario, ramp};
    use std::time::Duration;

    fn all(scenario: Scenario) -> impl Iterator<Item = super::Drawn> {
        let mut random = Random::new(1);
        (0..scenario.kinds()).map(move |kind| scenario.make(kind, &mut random))
    }

    #[test]
    fn ramp_matches_published_script() {
        assert_eq!(ramp().length(), Duration::from_secs(260));
        assert_eq!(ramp().most_users(), 100);
        assert_eq!(ramp().user_time(), Duration::from_secs(14_050));
    }

    #[test]
    fn requests_have_published_event_counts() {
        let events = |scenario| {
            let events = all(scenario).map(|drawn| match drawn.request {
                Request::Append { events, .. } => events.len(),
                Request::Read { .. } | Request::Project { .. } => 0,
            });
            events.collect::<Vec<_>>()
        };
        assert_eq!(events(Scenario::Append), [1, 2, 5, 25, 1, 1, 5, 50]);
        assert_eq!(events(Scenario::AppendIf), [1, 1, 2, 1, 2, 1, 20]);
        assert_eq!(events(Scenario::Read), [0; 8]);
        assert_eq!(events(Scenario::Project), [0; 6]);
    }

    #[test]
    fn users_have_published_pauses() {
        let pauses_ms = |scenario| {
            let pauses = all(scenario).map(|drawn| drawn.pause.as_millis());
            pauses.collect::<Vec<_>>()
        };
        assert_eq!(
            pauses_ms(Scenario::Append),
            [50, 50, 50, 100, 50, 50, 50, 100]
        );
        assert_eq!(pauses_ms(Scenario::AppendIf), [50, 50, 50, 50, 50, 50, 100]);
        assert_eq!(pauses_ms(Scenario::Read), [20, 50, 50, 20, 20, 20, 20, 50]);
        assert_eq!(pauses_ms(Scenario::Project), [50, 100, 100, 50, 50, 100]);
    }

    #[test]
    fn conflicting_event_of_append_run_is_prepared() {
        let conflicts = |scenario| {
            let drawn = all(scenario);
            drawn
                .filter(|drawn| {
                    matches!(
                        drawn.request,
                        Request::Append {
                            conflicts: true,
                            ..
                        }
                    )
                })
                .count()
        };
        assert_eq!(conflicts(Scenario::Append), 1);
        assert_eq!(conflicts(Scenario::AppendIf), 0);
        let Some(Request::Append { events, .. }) = Scenario::Append.needs() else {
            panic!("nothing stands against it");
        };
        let Request::Append { condition, .. } =
            Scenario::Append.make(5, &mut Random::new(2)).request
        else {
            panic!("it is an append");
        };
        let condition = condition.expect("it has a condition");
        assert_eq!(condition[0].types, [events[0].event_type]);
        assert_eq!(condition[0].tags, events[0].tags);
    }

    #[test]
    fn ids_are_unique_per_request_and_caller() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..50 {
            let mut random = Random::new(seed);
            for _ in 0..50 {
                let Request::Append { events, .. } = Scenario::Append.make(0, &mut random).request
                else {
                    panic!("it is an append");
                };
                assert!(seen.insert(events[0].tags[0].clone()), "{:?}", events[0]);
            }
        }
    }
}
