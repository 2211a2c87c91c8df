// The first definition of a link wins: these lead to pages of the documentation, those of the README to files.
#![cfg_attr(feature = "postgres", doc = "[message-db]: crate::guide::message_db")]
#![cfg_attr(feature = "sqlite", doc = "[sqlite-events]: sqlite_store#log-events")]
#![cfg_attr(
    feature = "postgres",
    doc = "[postgres-events]: postgres_store#log-events"
)]
//! [errors]: crate::Error
//!
#![cfg_attr(feature = "sqlite", doc = include_str!("../README.md"))]
// Without SQLite the README's example would not compile as a doctest.
#![cfg_attr(
    not(feature = "sqlite"),
    doc = "A message store: streams, categories and consumer groups on SQLite and PostgreSQL."
)]

#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod any_store;
mod bookmark;
mod category;
mod checkpoint;
mod consumer_group;
mod derived;
mod error;
mod expected_version;
mod following;
mod forward;
#[cfg(feature = "postgres")]
pub mod guide;
mod hash;
mod json;
mod limits;
mod listing;
mod looks;
mod message;
mod metrics;
mod namespace;
pub mod ndjson;
mod notifications;
mod position;
#[cfg(feature = "postgres")]
pub mod postgres;
mod read;
mod recorded;
mod runner;
mod start;
mod stats;
mod store;
mod stream_name;
mod subscription;
mod text;
mod time;
mod trace;
mod write;
mod write_until_known;

#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use any_store::{AnyNamespaces, AnyStore};
pub use bookmark::Bookmark;
pub use category::Category;
pub use checkpoint::Checkpoint;
pub use consumer_group::ConsumerGroup;
pub use error::Error;
pub use expected_version::ExpectedVersion;
pub use hash::hash_64;
pub use json::same_json;
pub use limits::Limits;
pub use listing::{CategoryInfo, ListStreams, StoreInfo, StreamInfo};
pub use looks::Settled;
pub use message::{Message, MessageBuilder};
pub use metrics::Metrics;
pub use namespace::{Namespace, NamespaceName, Namespaces};
pub use notifications::{Notifications, Notifier};
pub use position::{GlobalPosition, Position};
pub use read::{CategoryRead, StreamRead};
pub use recorded::{RecordedMessage, RecordedParts};
pub use runner::{Failure, HandlerError, MessageRunner, Outage, Progress, RunOptions, SetAside};
pub use start::Start;
pub use stats::Stats;
pub use store::MessageStore;
pub use stream_name::StreamName;
pub use subscription::{SubscribeOptions, Subscription};
pub use trace::span_of;
pub use write::{StreamWrite, Written};
pub use write_until_known::write_until_known;

pub use store_fault::{Fault, Health, Listener, OnFailure, Problem, Reason};
