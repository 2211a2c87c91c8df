use crate::{Error, LabelError};

/// The outcome of writing the points of a body.
#[derive(Clone, Debug, Default)]
#[must_use = "points may have been refused"]
pub struct Ingested {
    /// The number of points that were written.
    pub written: usize,
    /// The number of points that were not written.
    pub refused: usize,
    /// The errors of the first [`MAX_ERRORS`](Self::MAX_ERRORS) points that were not written, in
    /// body order.
    pub errors: Vec<PointError>,
    /// The number of values that are no numbers, such as strings in line protocol. They are left out.
    pub not_numbers: usize,
    /// The number of points with a time in 1970. A sender with a wrong unit of time writes such.
    pub in_1970: usize,
}

/// A point that was not written. Its fault says what to do.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{fault}")]
pub struct PointError {
    /// Its index in the body, from zero. The format's module says whether points, lines or samples
    /// are counted.
    pub index: usize,
    /// The reason.
    #[source]
    pub fault: Fault,
}

/// The reason why a point was not written.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The point is malformed. Correct it and send it again.
    #[error("{0}")]
    Form(String),
    /// The engine refused the point. The inner error says what to do.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl Fault {
    /// A fault for a malformed point.
    pub(super) fn form(reason: impl Into<String>) -> Self {
        Self::Form(reason.into())
    }
}

impl From<LabelError> for Fault {
    fn from(error: LabelError) -> Self {
        Self::Engine(error.into())
    }
}

impl Ingested {
    /// The maximum number of listed errors. A malformed point can be a few bytes long, but its
    /// error takes far more memory.
    pub const MAX_ERRORS: usize = 10_000;

    /// Whether a time is in 1970.
    pub(super) fn is_in_1970(timestamp_ms: i64) -> bool {
        const YEAR_MS: i64 = 365 * 24 * 60 * 60 * 1000;
        (0..YEAR_MS).contains(&timestamp_ms)
    }

    /// Adds the outcome of a later part of the same body.
    pub(super) fn extend(&mut self, later: Self) {
        self.written += later.written;
        self.refused += later.refused;
        self.not_numbers += later.not_numbers;
        self.in_1970 += later.in_1970;
        let room = Self::MAX_ERRORS - self.errors.len();
        self.errors.extend(later.errors.into_iter().take(room));
    }

    /// The outcome of a body whose only point was not written.
    pub(super) fn refused(fault: Fault) -> Self {
        Self {
            written: 0,
            refused: 1,
            errors: vec![PointError { index: 0, fault }],
            ..Self::default()
        }
    }
}
