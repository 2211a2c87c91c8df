use crate::following::Following;
use crate::{
    Bookmark, Category, CategoryRead, ConsumerGroup, Error, GlobalPosition, MessageStore,
    Notifications, RecordedMessage, Settled,
};

/// Reads the messages of a consumer, page by page.
pub(super) struct Reader {
    pub(super) category: Category,
    pub(super) group: ConsumerGroup,
    /// All messages of the consumer up to this one were read.
    pub(super) after: Option<Bookmark>,
    pub(super) batch_size: u64,
    pub(super) notifications: Notifications,
    /// What was settled before the last read, if that read has returned all there was.
    pub(super) seen: Option<Settled>,
    pub(super) following: Following,
}

pub(super) struct Page {
    pub(super) messages: Vec<RecordedMessage>,
    /// The head of the store, read before the page.
    pub(super) head: Option<GlobalPosition>,
    /// With this page, all messages of the consumer up to this position have been read.
    pub(super) through: Option<GlobalPosition>,
    /// Whether more messages may follow at once.
    pub(super) is_full: bool,
}

impl Reader {
    /// Reads the next page, and checks that the store still has the last message that was read. If the
    /// future is dropped, or the read fails, the next call reads the same page.
    pub(super) async fn read(&mut self, store: &impl MessageStore) -> Result<Page, Error> {
        let batch_size = self.batch_size.max(1);
        let settled = self.notifications.settled();
        // Read before the page: a page that is not full has all the consumer's messages up to this
        // head, so the next read need not scan those of others again.
        let head = store.head().await?;
        // A member also if it is the only one: its pages come from where the head comes from. A page
        // without a group may come from a replica that lags, and the next read would skip messages.
        let read = CategoryRead::new().start(self.after);
        let read = read.batch_size(batch_size).consumer_group(self.group);
        let messages = store.get_category_messages(&self.category, read).await?;
        let is_full = messages.len() as u64 >= batch_size;
        self.advance(messages.last().map(RecordedMessage::bookmark));
        if !is_full {
            self.advance(head);
        }
        self.seen = settled.filter(|_| !is_full);
        Ok(Page {
            messages,
            head: head.map(|head| head.position),
            through: self.after.map(|after| after.position),
            is_full,
        })
    }

    /// Never goes back: the head is behind the last message if others were written since it was read.
    fn advance(&mut self, read: Option<Bookmark>) {
        let position = |bookmark: Option<Bookmark>| bookmark.map(|bookmark| bookmark.position);
        if position(read) > position(self.after) {
            self.after = read;
        }
    }
}
