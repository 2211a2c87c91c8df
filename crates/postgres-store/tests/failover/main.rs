//! Failovers under load: both stores, their followers and a kept projection go on without a restart.
//!
//! A cluster is a server with a streaming standby, which the test promotes, or three servers under
//! Patroni. The load and the checks are the same for both.

mod address;
mod asynchronous;
mod cluster;
mod failover;
mod follow;
mod load;
mod patroni;
mod sql;
mod synchronous;
