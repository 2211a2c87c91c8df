//! One bounded, fair, cancellation-safe commit queue for durable writers.
#![cfg_attr(feature = "tokio", doc = include_str!("../README.md"))]

mod batch;
mod blocking;
mod claim;
mod commit;
mod drive;
mod error;
mod fill_wait;
mod inner;
mod limits;
mod queue;
mod slot;
mod state;
mod stats;
mod submit;
mod sync;
mod wait_queue;
mod wake_all;

pub use blocking::BlockingQueue;
pub use claim::Claim;
pub use commit::{Commit, CommitBlocking, CommitError, deadline_after};
pub use error::SubmitError;
pub use limits::Limits;
pub use queue::Queue;
pub use stats::Stats;

/// The result of [`Queue::submit`].
pub type Outcome<C> = Result<<C as Commit>::Verdict, SubmitError<<C as Commit>::Error>>;
