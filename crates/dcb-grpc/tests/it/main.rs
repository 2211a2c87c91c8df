//! The integration tests, in one executable so that they are linked once.

mod bad_input;
mod ending;
mod frames;
mod generated;
mod health;
mod idle;
mod limits;
mod metrics;
mod suite;
mod support;
mod transport;
