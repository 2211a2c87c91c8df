#![doc = include_str!("../README.md")]

mod followers;
#[cfg(not(feature = "metrics"))]
mod off;
#[cfg(feature = "metrics")]
mod on;
mod pool;
mod queue;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
pub mod trace;

pub use followers::FollowerMeter;
#[cfg(not(feature = "metrics"))]
pub use off::{Counter, Gauge, Histogram, Scope, Share, Shared, Timer};
#[cfg(feature = "metrics")]
pub use on::{Counter, Gauge, Histogram, Scope, Share, Shared, Timer};
pub use pool::{Borrowed, Holder, PoolMeter};
pub use queue::QueueMeter;
pub use store::{Outcome, StoreMeter, StoreNames};
