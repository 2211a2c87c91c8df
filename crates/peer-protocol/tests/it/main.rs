//! Tests of the protocol, with a store in memory as the peer.

mod dataset;
mod events;
mod log;
mod messages;
mod race;
mod series;
mod wire;
