//! Sliced projections: kept projections whose events are divided by a key.
//!
//! A *key* is a text of an event that must stay in order, for example the course. The hash of the key
//! chooses the *slice*. *Members*, in one process or in many, hold slices. A member reads the log once
//! for all its slices and applies their events in order.
//!
//! Invariants:
//!
//! - State and checkpoints change in one transaction, and only if each slice still has the epoch and
//!   the position that the member knows. A slice that has moved to another member has a new epoch, so
//!   its old holder changes nothing, however late it is. `tests/it/slices/fenced.rs` fails without this.
//! - Time only chooses who works: a member that gives no sign of life for [`model::LEASE`] loses its
//!   slices. If it was only slow, its transactions fail.

pub(crate) mod checkpoint;
mod key;
mod meter;
pub(crate) mod model;
mod options;
mod pulse;
mod runner;
pub(crate) mod share;
mod sliced_model;
pub(crate) mod standing;
mod trouble;

pub use checkpoint::ProjectionCheckpoint;
pub use key::SliceKey;
pub use model::{ProjectionState, ProjectionStatus, SetAside};
pub use options::SliceOptions;
pub use runner::SlicedRunner;
pub use sliced_model::SlicedModel;
