//! [referee]: ::referee
//!
#![doc = include_str!("../README.md")]

mod alloc;
mod alone;
mod bench_target;
pub mod compare;
mod environment;
mod error;
mod floor;
mod goal;
mod interrupt;
pub mod load;
mod measure;
mod op;
pub mod pages;
pub mod peers;
mod profile;
mod profiler;
mod progress;
pub mod report;
mod result;
mod row;
mod run;
mod storage;
mod workers;

pub use alloc::{Allocated, AllocationScope, CountingAllocator};
pub use alone::Alone;
pub use bench_target::{
    Declare, Settings, Target, measure, reports_folder, runs_folder, target, targets,
};
pub use environment::{Environment, Facts, Invocation};
pub use error::{BoxError, Error, Unavailable};
pub use floor::Floor;
pub use goal::{Bound, Goal};
pub use op::{AsyncOp, BlockingOp, Call, Expect, Op, Outcome};
pub use profile::Profile;
pub use result::{Figures, FloorFigures, Interval, Measured, RowResult, SampleFigures};
pub use row::{Declared, Reading, Row};
pub use run::{RunId, TargetRun, VERSION};
pub use storage::Storage;

/// Every program that links this crate counts its allocations.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
