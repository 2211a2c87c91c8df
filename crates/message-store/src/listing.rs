use std::time::SystemTime;

use crate::Position;
use crate::read::DEFAULT_BATCH_SIZE;

/// Which streams to list. They are ordered by the bytes of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStreams {
    /// Only names with this prefix. Default: all names.
    pub prefix: String,
    /// Only names after this one, usually the last name of the previous page. Default: from the
    /// first.
    pub after: Option<String>,
    /// Maximum number of streams. Default: 1,000.
    pub limit: u64,
}

impl Default for ListStreams {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            after: None,
            limit: DEFAULT_BATCH_SIZE,
        }
    }
}

impl ListStreams {
    /// The first 1,000 streams.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only names with this prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Only names after this one.
    #[must_use]
    pub fn after(mut self, name: impl Into<String>) -> Self {
        self.after = Some(name.into());
        self
    }

    /// At most this number of streams.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }
}

/// A stream of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The name.
    pub stream_name: String,
    /// The position of the last message.
    pub version: Position,
    /// When the last message was written.
    pub last_activity: SystemTime,
}

/// A category of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryInfo {
    /// The name.
    pub category: String,
    /// The number of streams.
    pub stream_count: u64,
    /// The number of messages in these streams.
    pub message_count: u64,
}

/// The size of a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreInfo {
    /// The number of streams.
    pub stream_count: u64,
    /// The number of messages.
    pub message_count: u64,
    /// When the last message was written, `None` for an empty store.
    pub last_activity: Option<SystemTime>,
}
