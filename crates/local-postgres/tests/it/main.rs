//! The servers of each source, and what they leave behind.

mod common;
mod failover;
mod installed;
mod leftovers;
mod sources;
