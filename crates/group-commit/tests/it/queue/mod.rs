//! The async queue through its public API.

mod batches;
mod bounds;
mod cancellation;
mod close;
mod deadlines;
mod errors;
mod gate;
mod handover;
mod stress;
