#![doc = include_str!("../README.md")]

mod any_store;
mod append_missing;
mod append_until_known;
mod attempts;
mod bookmark;
mod check;
mod command;
mod condition;
pub mod cost;
mod decide_from;
mod decision;
mod error;
mod event;
mod event_type;
mod extent;
mod forward;
mod given_when_then;
mod health;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod key_check;
mod lane;
mod limits;
mod listener;
mod memory;
mod metrics;
pub mod ndjson;
mod position;
mod projection;
mod query;
mod read;
mod runner;
mod stats;
mod store;
mod subscription;
mod tag;
mod text;
mod tracking;
mod until;
pub mod upcast;
mod wait;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use any_store::AnyStore;
pub use append_missing::append_missing;
pub use append_until_known::append_until_known;
pub use bookmark::Bookmark;
pub use command::{Command, CommandBuilder, CommandExecutor, RecordedCommand};
pub use condition::AppendCondition;
pub use decision::{Decided, DecisionModel, Nothing};
pub use error::{Error, Problem};
pub use event::{Event, EventBuilder, SequencedEvent};
pub use event_type::EventType;
pub use extent::Extent;
pub use given_when_then::{Given, Outcome, given};
pub use health::Health;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use key_check::KeyCheck;
pub use lane::{Lanes, Turn};
pub use limits::Limits;
pub use listener::Listener;
pub use memory::MemoryStore;
pub use metrics::Metrics;
pub use position::Position;
pub use projection::{
    KeptState, Projected, Projection, ProjectionLimit, ProjectionPermit, ProjectionStream,
    Projector, ProjectorBuilder, Reads,
};
pub use query::{Query, QueryBuilder, QueryItem};
pub use read::{EventStream, Events, ReadOptions};
pub use runner::{HandlerError, ProjectionRunner, ReadModel};
pub use stats::Stats;
pub use store::{Append, Appended, EventStore};
pub use subscription::{
    EventBatch, Notifications, Notifier, Progress, SubscribeOptions, Subscription,
};
pub use tag::Tag;
pub use tracking::Tracking;
pub use upcast::{Upcasting, Upcasts, Versions};

pub use store_fault::{Fault, Reason};
