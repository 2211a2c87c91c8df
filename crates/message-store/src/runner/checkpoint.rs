use tokio::time::Instant;

use super::patience::Pauses;
use super::stop::Stop;
use super::{Consumer, End};
use crate::{Bookmark, Error, MessageStore};

/// After this number of intervals, a checkpoint is late.
const LATE_INTERVALS: u32 = 10;

/// The messages that the saved checkpoint lacks.
#[derive(Debug)]
pub(super) struct Unsaved {
    pub(super) handled: Bookmark,
    pub(super) messages: u64,
    pub(super) since: Instant,
}

impl<S> Consumer<S> {
    /// All that decides which messages are handled. A consumer that changes its category or its group
    /// begins at the start, and skips nothing. A category has no hyphen, so the first one ends it.
    pub(super) fn checkpoint_name(&self) -> String {
        let (category, name) = (self.category.as_str(), &self.name);
        match self.group {
            Some(group) => format!("{category}-{name}-{}-of-{}", group.member(), group.size()),
            None => format!("{category}-{name}"),
        }
    }
}

impl<S: MessageStore> Consumer<S> {
    pub(super) fn note_done(&mut self, handled: Bookmark) {
        self.progress.set_position(Some(handled.position));
        let unsaved = self.unsaved.get_or_insert_with(|| Unsaved {
            handled,
            messages: 0,
            since: Instant::now(),
        });
        unsaved.handled = handled;
        unsaved.messages += 1;
    }

    pub(super) async fn save_if_due(&mut self, stop: &mut Stop<'_>) -> Result<(), End> {
        let options = &self.options;
        let is_due = self.unsaved.as_ref().is_some_and(|unsaved| {
            unsaved.messages >= options.checkpoint_messages
                || unsaved.since.elapsed() >= options.checkpoint_interval
        });
        if is_due {
            self.save(stop).await
        } else {
            Ok(())
        }
    }

    pub(super) async fn save(&mut self, stop: &mut Stop<'_>) -> Result<(), End> {
        self.tell_lateness();
        let mut pauses = Pauses::new(&self.options);
        loop {
            match stop.or(self.try_to_save()).await? {
                Ok(()) => break,
                Err(error) => self.wait_out(error, &mut pauses, stop).await?,
            }
        }
        self.recovered();
        Ok(())
    }

    /// Tells when checkpoints begin to be late, and when they are in time again. A handler that takes
    /// long makes them late.
    fn tell_lateness(&mut self) {
        let Some(unsaved) = &self.unsaved else {
            return;
        };
        let age = unsaved.since.elapsed();
        let late = self
            .options
            .checkpoint_interval
            .saturating_mul(LATE_INTERVALS);
        let is_late = age > late && !late.is_zero();
        if is_late != self.is_late {
            self.is_late = is_late;
            let (consumer, seconds) = (self.checkpoint_name(), age.as_secs_f64());
            let messages = unsaved.messages;
            match is_late {
                true => tracing::warn!(consumer, seconds, messages, "a checkpoint is late"),
                false => tracing::info!(consumer, "checkpoints are in time again"),
            }
        }
    }

    pub(super) async fn try_to_save(&mut self) -> Result<(), Error> {
        if let Some(unsaved) = &self.unsaved {
            let (name, handled) = (self.checkpoint_name(), unsaved.handled);
            self.store.save_checkpoint(&name, handled).await?;
            self.unsaved = None;
        }
        Ok(())
    }

    /// After the run: saves the checkpoint, with a single try.
    pub(super) async fn finish(&mut self, ended: Result<(), End>) -> Result<(), Error> {
        let saved = self.try_to_save().await;
        match ended {
            Err(End::Failed(error)) => Err(error),
            Ok(()) | Err(End::Stopped) => saved,
        }
    }
}
