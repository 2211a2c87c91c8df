#![doc = include_str!("../README.md")]

mod calls;
mod dataset;
mod event;
mod events;
mod latency;
mod messages;
mod race;
mod series;
mod serve;
mod session;
mod wire;

pub use dataset::{ContentSize, Dataset};
pub use event::{Condition, Failure, NewEvent, QueryItem, Read, Recorded};
pub use events::{EventPeer, Events};
pub use latency::Latencies;
pub use messages::{MessagePeer, Messages};
pub use race::{Call, Draft, Entry, History, Outcome, Place, Race, Step, race};
pub use series::{SeriesPeer, TimeSeries};
pub use serve::{Peer, serve};
pub use session::Session;
pub use wire::{Answer, Hello, Operation, Promise, Reply, Request, Run};
