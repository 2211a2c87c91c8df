#![doc = include_str!("../README.md")]

mod condition;
mod decision;
mod error;
mod event;
mod event_type;
mod limits;
mod memory;
mod position;
mod projection;
mod query;
mod read;
mod store;
mod tag;
mod text;
mod tracking;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "postgres")]
pub mod postgres;

pub use condition::AppendCondition;
pub use decision::{Decided, DecisionModel};
pub use error::{Error, Problem};
pub use event::{Event, EventBuilder, SequencedEvent};
pub use event_type::EventType;
pub use limits::Limits;
pub use memory::MemoryStore;
pub use position::Position;
pub use projection::{
    Projected, Projection, ProjectionLimit, ProjectionPermit, ProjectionStream, Projector,
};
pub use query::{Query, QueryBuilder, QueryItem};
pub use read::{EventStream, Events, ReadOptions};
pub use store::{Append, Appended, EventStore};
pub use tag::Tag;
pub use tracking::Tracking;
