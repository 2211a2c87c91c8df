use crate::Bookmark;

/// How far a consumer has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the consumer.
    pub consumer: String,
    /// The last message that it has handled.
    pub handled: Bookmark,
}
