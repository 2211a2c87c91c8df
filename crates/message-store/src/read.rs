use crate::{Bookmark, Category, ConsumerGroup, GlobalPosition, Position, RecordedMessage, Start};

/// The default limit of reads and listings.
pub(crate) const DEFAULT_BATCH_SIZE: u64 = 1000;

/// Which messages of a stream to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRead {
    /// The first position, inclusive. Default: 0.
    pub position: Position,
    /// The last message that the reader has handled, of this stream or another. If the store has another
    /// past, the read fails with [`Error::PastReplaced`](crate::Error::PastReplaced) or
    /// [`Error::AfterBeyondHead`](crate::Error::AfterBeyondHead). Default: none.
    pub handled: Option<Bookmark>,
    /// The maximum number of messages, `None` for no limit. Default: 1,000.
    pub batch_size: Option<u64>,
}

impl Default for StreamRead {
    fn default() -> Self {
        Self {
            position: Position::START,
            handled: None,
            batch_size: Some(DEFAULT_BATCH_SIZE),
        }
    }
}

impl From<Position> for StreamRead {
    /// A read from this position on, inclusive.
    fn from(position: Position) -> Self {
        Self::new().position(position)
    }
}

impl StreamRead {
    /// Up to 1,000 messages from the start.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts at this position, inclusive.
    #[must_use]
    pub fn position(mut self, position: Position) -> Self {
        self.position = position;
        self
    }

    /// Starts after this message of the stream, and checks that the store still has it.
    #[must_use]
    pub fn after(self, message: &RecordedMessage) -> Self {
        self.position(message.position().next())
            .handled(message.bookmark())
    }

    /// Checks that the store still has this message. A [`Bookmark`](crate::Bookmark) is the surest.
    #[must_use]
    pub fn handled(mut self, handled: impl Into<Bookmark>) -> Self {
        self.handled = Some(handled.into());
        self
    }

    /// At most this number of messages. `None` loads all of them into memory.
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
    /// The last message that the reader has handled. If the store has another past, the read fails
    /// with [`Error::PastReplaced`](crate::Error::PastReplaced) or
    /// [`Error::AfterBeyondHead`](crate::Error::AfterBeyondHead). Default: none.
    pub handled: Option<Bookmark>,
    /// The maximum number of messages, `None` for no limit. Default: 1,000.
    pub batch_size: Option<u64>,
    /// Only messages whose metadata has a `correlationStreamName` in exactly this category.
    /// [`Category::all`] means no filter.
    pub correlation: Category,
    /// Only streams assigned to this member of a consumer group.
    pub consumer_group: Option<ConsumerGroup>,
}

impl Default for CategoryRead {
    fn default() -> Self {
        Self {
            position: GlobalPosition::START,
            handled: None,
            batch_size: Some(DEFAULT_BATCH_SIZE),
            correlation: Category::all(),
            consumer_group: None,
        }
    }
}

impl CategoryRead {
    /// Up to 1,000 messages from the start.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts at this global position, inclusive, without a check: beyond the end of the store there
    /// are no messages, and a replaced past is not noticed.
    #[must_use]
    pub fn position(mut self, position: GlobalPosition) -> Self {
        self.position = position;
        self.handled = None;
        self
    }

    /// Starts where a reader has stopped, and checks its place. A
    /// [`Bookmark`](crate::Bookmark) is the surest one.
    #[must_use]
    pub fn start(mut self, start: impl Into<Start>) -> Self {
        let start = start.into();
        self.position = start.next;
        self.handled = start.handled;
        self
    }

    /// At most this number of messages. `None` loads all of them into memory.
    #[must_use]
    pub fn batch_size(mut self, batch_size: impl Into<Option<u64>>) -> Self {
        self.batch_size = batch_size.into();
        self
    }

    /// Only messages whose metadata has a `correlationStreamName` in this category. Such messages
    /// answer commands that were sent from the category.
    #[must_use]
    pub fn correlation(mut self, category: Category) -> Self {
        self.correlation = category;
        self
    }

    /// Only streams assigned to this member of a consumer group.
    #[must_use]
    pub fn consumer_group(mut self, group: ConsumerGroup) -> Self {
        self.consumer_group = Some(group);
        self
    }
}
