//! The tests of the domain and its datasets, in one executable so that they are linked once.

#[cfg(feature = "cache")]
mod cache;
mod dataset;
mod enroll;
mod load;
mod workload;
