// The first definition of a link wins: these lead to pages of the documentation, those of the README to files.
//! [decisions]: crate::guide::decisions
//! [backends]: crate::guide::backends
//! [subscriptions]: crate::guide::subscriptions
//! [read-models]: crate::guide::read_models
//! [migrating]: crate::guide::migrating
//! [operating]: crate::guide::operating
//! [testing]: crate::guide::testing
//! [errors]: crate::Error
#![cfg_attr(feature = "sqlite", doc = "[sqlite-events]: sqlite_store#log-events")]
#![cfg_attr(
    feature = "postgres",
    doc = "[postgres-events]: postgres_store#log-events"
)]
//!
#![doc = include_str!("../README.md")]

mod any_store;
mod append;
mod append_missing;
mod append_until_known;
mod attempts;
mod bookmark;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod bounds;
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
pub mod guide;
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "a database keeps the states")
)]
mod kept_states;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod key_check;
mod lane;
mod limits;
mod memory;
mod metrics;
pub mod ndjson;
mod position;
mod projection;
mod query;
mod read;
mod runner;
#[cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    expect(dead_code, reason = "a database keeps the slices")
)]
mod slices;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod states_by_key;
mod stats;
mod store;
mod subscription;
mod tag;
mod text;
mod trace;
mod tracking;
mod until;
pub mod upcast;
mod wait;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use any_store::AnyStore;
pub use append::{Append, Appended};
pub use append_missing::append_missing;
pub use append_until_known::append_until_known;
pub use bookmark::Bookmark;
pub use command::{Command, CommandBuilder, CommandExecutor, RecordedCommand};
pub use condition::AppendCondition;
pub use decision::{Decided, DecisionModel, Nothing};
pub use error::Error;
pub use event::{Event, EventBuilder, SequencedEvent};
pub use event_type::EventType;
pub use extent::Extent;
pub use given_when_then::{Given, Outcome, given};
pub use kept_states::KeptStates;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use key_check::KeyCheck;
pub use lane::{Lanes, Turn};
pub use limits::Limits;
pub use memory::MemoryStore;
pub use metrics::Metrics;
pub use position::Position;
pub use projection::{
    KeptState, Projected, Projection, ProjectionLimit, ProjectionPermit, ProjectionStream,
    Projector, ProjectorBuilder, Reads, StateOptions, StoredFold,
};
pub use query::{Query, QueryBuilder, QueryItem};
pub use read::{EventStream, Events, ReadOptions};
pub use runner::{HandlerError, ProjectionRunner, ReadModel};
pub use slices::{
    ProjectionCheckpoint, ProjectionState, ProjectionStatus, SetAside, SliceKey, SliceOptions,
    SlicedModel, SlicedRunner,
};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use states_by_key::{StateReader, StatesByKey};
pub use stats::Stats;
pub use store::EventStore;
pub use subscription::{
    EventBatch, Notifications, Notifier, Progress, SubscribeOptions, Subscription,
};
pub use tag::Tag;
pub use trace::span_of;
pub use tracking::Tracking;
pub use upcast::{Upcasting, Upcasts, VersionCheck, Versions, check_versions};

pub use store_fault::{Fault, Health, Listener, OnFailure, Problem, Reason};
