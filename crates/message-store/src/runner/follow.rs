//! The loop: read a page, handle its messages, wait.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;

use super::patience::Pauses;
use super::reader::{Page, Reader};
use super::stop::Stop;
use super::{Consumer, End, Failure};
use crate::following::Following;
use crate::{ConsumerGroup, GlobalPosition, MessageStore, RecordedMessage};

impl<S: MessageStore> Consumer<S> {
    pub(super) async fn catch_up<F>(
        &mut self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        stop: &mut Stop<'_>,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        let mut pauses = Pauses::new(&self.options);
        let head = loop {
            match self.store.head().await {
                Ok(head) => break head,
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        };
        // An empty store is read too, because it may have lost what the consumer has handled.
        let goal = head.map_or(GlobalPosition::new(0), |head| head.position);
        self.follow(handler, Some(goal), stop).await?;
        self.save(stop).await
    }

    /// Handles messages from the checkpoint on, through `goal` or without end.
    pub(super) async fn follow<F>(
        &mut self,
        handler: &mut (impl FnMut(RecordedMessage) -> F + Send),
        goal: Option<GlobalPosition>,
        stop: &mut Stop<'_>,
    ) -> Result<(), End>
    where
        F: Future<Output = Result<(), Failure>> + Send,
    {
        // Left from a run that was dropped. Its messages are handled again.
        (self.unsaved, self.read_to) = (None, None);
        self.read_parked(stop).await?;
        let mut reader = self.reader(stop).await?;
        loop {
            let page = self.read(&mut reader, stop).await?;
            for message in &page.messages {
                stop.check().await?;
                self.handle(handler, message, stop).await?;
                self.note_done(message.bookmark());
                self.save_if_due(stop).await?;
            }
            self.note_read(reader.after);
            self.progress.set_position(page.through);
            reader.following.record_lag(self.progress.lag());
            // A page that is not full reaches the goal too: the last messages may have been deleted.
            if goal.is_some() && (!page.is_full || page.through >= goal) {
                return Ok(());
            }
            if !page.is_full {
                self.wait(&mut reader, stop).await?;
            }
        }
    }

    /// A reader that begins after the checkpoint.
    async fn reader(&self, stop: &mut Stop<'_>) -> Result<Reader, End> {
        // Before the first read, so that no hint of a later message is missed.
        let notifications = self.store.notifications();
        let mut pauses = Pauses::new(&self.options);
        let checkpoint = loop {
            match stop.or(self.starting_point()).await? {
                Ok(checkpoint) => break checkpoint,
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        };
        self.progress
            .set_position(checkpoint.map(|handled| handled.position));
        Ok(Reader {
            category: self.category.clone(),
            group: match self.group {
                Some(group) => group,
                None => ConsumerGroup::new(0, 1)?,
            },
            after: checkpoint,
            batch_size: self.options.batch_size,
            notifications,
            seen: None,
            following: Following::new(self.store.metrics()),
        })
    }

    async fn read(&self, reader: &mut Reader, stop: &mut Stop<'_>) -> Result<Page, End> {
        let mut pauses = Pauses::new(&self.options);
        loop {
            match stop.or(reader.read(&self.store)).await? {
                Ok(page) => {
                    self.recovered();
                    self.progress.observe_head(page.head);
                    reader.following.record_lag(self.progress.lag());
                    return Ok(page);
                }
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
    }

    /// Waits until something may be new, or for the time to save the checkpoint.
    async fn wait(&mut self, reader: &mut Reader, stop: &mut Stop<'_>) -> Result<(), End> {
        let limit = self.unsaved.as_ref().map_or(Duration::MAX, |unsaved| {
            let left = self.options.checkpoint_interval;
            let left = left.saturating_sub(unsaved.since.elapsed());
            // An interval of zero would make this a busy loop.
            left.max(Duration::from_millis(1))
        });
        reader.following.waits();
        let interval = self.options.poll_interval;
        let news = reader
            .notifications
            .news(&self.store, reader.seen, interval);
        let _ = stop.or(timeout(limit, news)).await?;
        self.save_if_due(stop).await
    }
}
