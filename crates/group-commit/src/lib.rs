//! One bounded, fair, cancellation-safe commit queue for durable writers.
#![cfg_attr(feature = "tokio", doc = include_str!("../README.md"))]

#[cfg(feature = "tokio")]
mod backoff;
mod batch;
mod blocking;
mod claim;
mod commit;
mod drive;
mod error;
mod fill_wait;
mod inner;
mod limits;
mod outage;
mod queue;
mod slot;
mod state;
mod stats;
mod submit;
mod sync;
#[cfg(feature = "tokio")]
mod until_known;
mod wait_queue;
mod wake_all;

#[cfg(feature = "tokio")]
pub use backoff::Backoff;
pub use blocking::BlockingQueue;
pub use claim::Claim;
pub use commit::{Commit, CommitBlocking, CommitError, deadline_after};
pub use error::SubmitError;
pub use limits::Limits;
pub use outage::Outage;
pub use queue::Queue;
pub use stats::Stats;
#[cfg(feature = "tokio")]
pub use until_known::{TryFailed, until_known};

/// The result of [`Queue::submit`].
pub type Outcome<C> = Result<<C as Commit>::Verdict, SubmitError<<C as Commit>::Error>>;
