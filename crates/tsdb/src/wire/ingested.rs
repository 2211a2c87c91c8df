use crate::Error;

/// What became of the points of a body.
#[derive(Clone, Debug, Default)]
#[must_use = "points may have been refused"]
pub struct Ingested {
    /// How many points were written.
    pub written: usize,
    /// How many were not.
    pub refused: usize,
    /// Why the first [`MAX_ERRORS`](Self::MAX_ERRORS) of those were not, in their order in the body.
    pub errors: Vec<PointError>,
}

/// A point that was not written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{fault}")]
pub struct PointError {
    /// Its place in the body, from zero: what is counted, the format's module says.
    pub index: usize,
    /// Why.
    #[source]
    pub fault: Fault,
}

/// What is wrong with a point.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The body doesn't say the point in a form that can be read. Correct it and send it again.
    #[error("{0}")]
    Form(String),
    /// The engine refused it.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl Fault {
    /// A fault in the point's form.
    pub(super) fn form(reason: impl Into<String>) -> Self {
        Self::Form(reason.into())
    }
}

impl Ingested {
    /// The most points that are told of: an error takes far more bytes than a point that is none.
    pub const MAX_ERRORS: usize = 10_000;

    /// Adds the outcome for a later part of the same body.
    pub(super) fn extend(&mut self, later: Self) {
        self.written += later.written;
        self.refused += later.refused;
        let room = Self::MAX_ERRORS - self.errors.len();
        self.errors.extend(later.errors.into_iter().take(room));
    }

    /// The outcome for a body whose only point was not written.
    pub(super) fn refused(fault: Fault) -> Self {
        Self {
            written: 0,
            refused: 1,
            errors: vec![PointError { index: 0, fault }],
        }
    }
}
