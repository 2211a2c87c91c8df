use crate::text::invalid;
use crate::{Bookmark, Error, Problem};

/// The checkpoint of a kept projection without slices, as `Projections::checkpoints` returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectionCheckpoint {
    /// The name of the projection.
    pub name: String,
    /// The state contains all events up to this one. `None` at the beginning.
    pub at: Option<Bookmark>,
}

/// There is no projection to reset.
pub(crate) fn no_projection(title: &str) -> Error {
    let reason = format!("there is no projection {title}");
    invalid("name")(Problem::malformed(reason))
}

/// There is no table to empty.
pub(crate) fn no_table(name: &str) -> Error {
    invalid("tables")(Problem::malformed(format!("there is no table {name}")))
}
