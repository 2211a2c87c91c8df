use std::time::SystemTime;

use crate::Position;
use crate::read::DEFAULT_BATCH_SIZE;

/// Which streams to list. They come in the order of the bytes of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStreams {
    /// Only names that begin with this text. Default: every name.
    pub prefix: String,
    /// Only names after this one: the last name of the page before. Default: from the first.
    pub after: Option<String>,
    /// The most streams. Default: 1,000.
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

    /// Only names that begin with this text.
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

    /// At most so many.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }
}

/// A stream of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its name.
    pub stream_name: String,
    /// The position of its last message.
    pub version: Position,
    /// When its last message was written.
    pub last_activity: SystemTime,
}

/// A category of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryInfo {
    /// Its name.
    pub category: String,
    /// How many streams it has.
    pub stream_count: u64,
    /// How many messages these have.
    pub message_count: u64,
}

/// What is in the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreInfo {
    /// How many streams there are.
    pub stream_count: u64,
    /// How many messages there are.
    pub message_count: u64,
    /// When the last message was written, `None` of an empty store.
    pub last_activity: Option<SystemTime>,
}
