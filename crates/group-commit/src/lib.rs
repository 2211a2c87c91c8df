//! One bounded, fair, cancellation-safe commit queue for durable writers.
#![cfg_attr(feature = "tokio", doc = include_str!("../README.md"))]

mod batch;
mod bell;
mod blocking;
mod commit;
mod drive;
mod error;
mod limits;
mod line;
mod queue;
mod settle;
mod shared;
mod slot;
mod state;
mod stats;
mod submit;
mod sync;

pub use blocking::BlockingQueue;
pub use commit::{Commit, CommitBlocking, CommitError};
pub use error::SubmitError;
pub use limits::Limits;
pub use queue::Queue;
pub use stats::Stats;

/// What a caller of a [`Queue`] gets.
pub type Outcome<C> = Result<<C as Commit>::Verdict, SubmitError<<C as Commit>::Error>>;
