//! Model tests: they compile the crate's source with shuttle's locks and threads, and explore
//! interleavings of callers that submit, are dropped, time out and close.
//!
//! They are a separate executable, because the source needs `crate::sync` to be the models' module.
//!
//! `REGISTRAR_EFFORT` multiplies the interleavings of each model.

#![allow(
    dead_code,
    reason = "the models do not use every part of the crate they compile"
)]
#![allow(
    unreachable_pub,
    reason = "the crate's public items have no public root here"
)]

mod async_models;
mod blocking_models;
mod explore;
mod ledger;
mod sync;

#[path = "../../src/batch.rs"]
mod batch;
#[path = "../../src/blocking.rs"]
mod blocking;
#[path = "../../src/commit.rs"]
mod commit;
#[path = "../../src/drive.rs"]
mod drive;
#[path = "../../src/error.rs"]
mod error;
#[path = "../../src/fill_wait.rs"]
mod fill_wait;
#[path = "../../src/inner.rs"]
mod inner;
#[path = "../../src/limits.rs"]
mod limits;
#[path = "../../src/queue.rs"]
mod queue;
#[path = "../../src/slot.rs"]
mod slot;
#[path = "../../src/state.rs"]
mod state;
#[path = "../../src/stats.rs"]
mod stats;
#[path = "../../src/submit.rs"]
mod submit;
#[path = "../../src/wait_queue.rs"]
mod wait_queue;
#[path = "../../src/wake_all.rs"]
mod wake_all;

pub(crate) use blocking::BlockingQueue;
pub(crate) use commit::{Commit, CommitBlocking, CommitError};
pub(crate) use error::SubmitError;
pub(crate) use limits::Limits;
pub(crate) use queue::Queue;

pub(crate) type Outcome<C> = Result<<C as Commit>::Verdict, SubmitError<<C as Commit>::Error>>;
