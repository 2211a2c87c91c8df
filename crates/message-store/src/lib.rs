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
mod consumer_group;
mod derived;
mod error;
mod expected_version;
mod following;
mod hash;
mod health;
mod json;
mod limits;
mod listener;
mod listing;
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
mod write;
mod write_until_known;

#[cfg(feature = "sqlite")]
pub mod sqlite;

#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use any_store::{AnyNamespaces, AnyStore};
pub use bookmark::Bookmark;
pub use category::Category;
pub use consumer_group::ConsumerGroup;
pub use error::{Error, Problem};
pub use expected_version::ExpectedVersion;
pub use hash::hash_64;
pub use health::Health;
pub use json::same_json;
pub use limits::Limits;
pub use listener::Listener;
pub use listing::{CategoryInfo, ListStreams, StoreInfo, StreamInfo};
pub use message::{Message, MessageBuilder};
pub use metrics::Metrics;
pub use namespace::{Namespace, NamespaceName, Namespaces};
pub use notifications::{Notifications, Notifier};
pub use position::{GlobalPosition, Position};
pub use read::{CategoryRead, StreamRead};
pub use recorded::{RecordedMessage, RecordedParts};
pub use runner::{Failure, HandlerError, MessageRunner, Outage, Progress, RunOptions};
pub use start::Start;
pub use stats::Stats;
pub use store::MessageStore;
pub use stream_name::StreamName;
pub use subscription::{SubscribeOptions, Subscription};
pub use write::{StreamWrite, Written};
pub use write_until_known::write_until_known;

pub use store_fault::{Fault, Reason};
