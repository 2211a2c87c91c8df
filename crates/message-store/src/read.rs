use crate::{Category, ConsumerGroup, GlobalPosition, Position};

/// How many messages a read returns where nothing else is asked.
pub(crate) const DEFAULT_BATCH_SIZE: u64 = 1000;

/// Which messages of a stream to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRead {
    /// The first position, inclusive. Default: 0.
    pub position: Position,
    /// The most messages, `None` for all of them. Default: 1,000.
    pub batch_size: Option<u64>,
}

impl Default for StreamRead {
    fn default() -> Self {
        Self {
            position: Position::START,
            batch_size: Some(DEFAULT_BATCH_SIZE),
        }
    }
}

impl StreamRead {
    /// From the start, up to 1,000 messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// From this position on, inclusive.
    #[must_use]
    pub fn position(mut self, position: Position) -> Self {
        self.position = position;
        self
    }

    /// At most so many messages; `None` for all of them, in memory.
    #[must_use]
    pub fn batch_size(mut self, batch_size: impl Into<Option<u64>>) -> Self {
        self.batch_size = batch_size.into();
        self
    }
}

/// Which messages of a category to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryRead {
    /// The first global position, inclusive. Default: 1.
    pub position: GlobalPosition,
    /// The most messages, `None` for all of them. Default: 1,000.
    pub batch_size: Option<u64>,
    /// Only messages whose metadata has a `correlationStreamName` of exactly this category; the
    /// category of all messages asks for nothing.
    pub correlation: Category,
    /// Only the streams of this member of a group.
    pub consumer_group: Option<ConsumerGroup>,
}

impl Default for CategoryRead {
    fn default() -> Self {
        Self {
            position: GlobalPosition::START,
            batch_size: Some(DEFAULT_BATCH_SIZE),
            correlation: Category::all(),
            consumer_group: None,
        }
    }
}

impl CategoryRead {
    /// From the start, up to 1,000 messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// From this global position on, inclusive.
    #[must_use]
    pub fn position(mut self, position: GlobalPosition) -> Self {
        self.position = position;
        self
    }

    /// At most so many messages; `None` for all of them, in memory.
    #[must_use]
    pub fn batch_size(mut self, batch_size: impl Into<Option<u64>>) -> Self {
        self.batch_size = batch_size.into();
        self
    }

    /// Only what was written in answer to a stream of this category.
    #[must_use]
    pub fn correlation(mut self, category: Category) -> Self {
        self.correlation = category;
        self
    }

    /// Only the streams of this member of a group.
    #[must_use]
    pub fn consumer_group(mut self, group: ConsumerGroup) -> Self {
        self.consumer_group = Some(group);
        self
    }
}
