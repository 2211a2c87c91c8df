//! Measures the stores and renders the reports.
//!
//! A bench target declares its rows; timing, allocations, ratios to floors, the saved run and the
//! pages follow from the declaration.
//!
//! ```no_run
//! use bench::{Floor, Goal, Op, Outcome, Row};
//!
//! fn main() -> std::process::ExitCode {
//!     bench::target("sleep", |target| {
//!         let sleep = Op::setup(|| async { Ok(std::time::Duration::from_micros(10)) }).call(
//!             |pause, _call| async move {
//!                 tokio::time::sleep(*pause).await;
//!                 Ok(Outcome::Success)
//!             },
//!         );
//!         let yields = Op::setup(|| async { Ok(()) }).call(|_, _call| async {
//!             tokio::task::yield_now().await;
//!             Ok(Outcome::Success)
//!         });
//!         let floor = Floor::new("yield", "one turn of the scheduler", &yields);
//!         let row = Row::new("Sleep", "none")
//!             .concurrency(100)
//!             .one_op("100 tasks sleep for 10 µs")
//!             .floor(&floor)
//!             .goal(Goal::at_most_times(&floor, 2_000.0));
//!         target.row(row, &sleep);
//!         Ok(())
//!     })
//! }
//! ```

mod alloc;
mod date;
mod environment;
mod error;
mod floor;
mod goal;
mod interrupt;
mod measure;
mod op;
pub mod pages;
mod profile;
mod progress;
pub mod report;
mod result;
mod row;
mod run;
mod target;

pub use alloc::{Allocated, AllocationScope, CountingAllocator};
pub use environment::{Environment, Facts, Invocation};
pub use error::{BoxError, Error};
pub use floor::Floor;
pub use goal::{Bound, Goal};
pub use op::{AsyncOp, BlockingOp, Call, Op, Outcome};
pub use profile::Profile;
pub use result::{Figures, FloorFigures, Interval, Measured, RowResult, SampleFigures};
pub use row::{Declared, Expect, Reading, Row, TableId};
pub use run::{RunId, TargetRun, VERSION};
pub use target::{Settings, Target, measure, reports_folder, target};

/// Every program that links this crate counts its allocations.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
