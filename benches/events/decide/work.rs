//! The work of the callers of a row.

/// Decisions on one course, before the callers go on to the next.
pub(super) const PER_COURSE: u64 = 1_000;
/// Courses between which the callers alternate.
const COURSES: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
pub(super) enum Backend {
    Postgres,
    SqliteFile,
}

impl Backend {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::SqliteFile => "SQLite file",
        }
    }

    /// The decisions a second of 100 callers on one boundary to reach.
    pub(super) fn reach(self) -> f64 {
        match self {
            Self::Postgres => 15_000.0,
            Self::SqliteFile => 25_000.0,
        }
    }

    /// The goal of two stores with 100 callers on 1,000 boundaries, in decisions a second. One store
    /// that read for each decision reached it.
    pub(super) fn reach_with_two_stores(self) -> f64 {
        match self {
            Self::Postgres => 13_200.0,
            Self::SqliteFile => 19_500.0,
        }
    }
}

/// The work of the callers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) callers: usize,
    pub(super) stores: usize,
    /// The logs between which the stores are divided, and the servers between which the logs are.
    pub(super) logs: usize,
    pub(super) servers: usize,
    /// Seats of a course.
    pub(super) capacity: u64,
    /// Whether the callers alternate between courses.
    pub(super) alternates: bool,
    /// Whether the stores keep nothing of a boundary that they have decided on.
    pub(super) is_cold: bool,
    /// Events of the first course before the first call. If there are some, it is the only course.
    pub(super) filled: u64,
    /// Whether the store keeps the number of seats instead of the events.
    pub(super) keeps_state: bool,
    /// Whether the database keeps it too.
    pub(super) stores_state: bool,
    pub(super) way: Way,
}

/// The work of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Decide,
    /// Projects, and appends under the condition.
    ByHand,
    /// Appends after the last event that the callers remember.
    AppendIf,
    /// Looks for an event after the last one.
    Look,
}

impl Work {
    pub(super) fn new(callers: usize) -> Self {
        Self {
            callers,
            stores: 1,
            logs: 1,
            servers: 1,
            capacity: u64::MAX,
            alternates: false,
            is_cold: false,
            filled: 0,
            keeps_state: false,
            stores_state: false,
            way: Way::Decide,
        }
    }

    pub(super) fn with(self, way: Way) -> Self {
        Self { way, ..self }
    }

    pub(super) fn lane_cache_bytes(self, default: usize) -> usize {
        match self.is_cold {
            true => 0,
            false => default,
        }
    }

    /// The course of the decision with this number.
    pub(super) fn course(self, decision: u64) -> String {
        let course = match self.alternates {
            _ if self.filled > 0 => 0,
            // Begins new courses after as many decisions on each.
            true => decision / (COURSES * PER_COURSE) * COURSES + decision % COURSES,
            false => decision / PER_COURSE,
        };
        format!("course_id:c{course}")
    }
}
