//! The tests of the public interface, in one executable so that they are linked once.

mod aggregates;
mod budget;
mod cardinality;
mod codecs;
mod concurrency;
mod crash;
mod engine;
#[cfg(feature = "metrics")]
mod meters;
#[cfg(feature = "promql")]
mod promql;
#[cfg(feature = "promql")]
mod promqltest;
mod random_operations;
mod registry;
mod retention;
mod snapshot;
mod support;
mod wal;
#[cfg(feature = "wire")]
mod wire;
