use tokio::time::Instant;

use super::patience::Pauses;
use super::stop::Stop;
use super::{Consumer, End};
use crate::{Bookmark, Error, GlobalPosition, MessageStore};

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
        match self.group {
            Some(group) => self.member_name(group.member(), group.size()),
            None => format!("{}-{}", self.category.as_str(), self.name),
        }
    }

    fn member_name(&self, member: u32, size: u32) -> String {
        let (category, name) = (self.category.as_str(), &self.name);
        format!("{category}-{name}-{member}-of-{size}")
    }
}

impl<S: MessageStore> Consumer<S> {
    /// The checkpoint of the consumer. A member of a group that was resized may go on at the least
    /// checkpoint of the old members whose streams it may have: those that are equal to it modulo the
    /// greatest common divisor of both sizes, because the hash of a stream chooses its member modulo the
    /// size. It has a checkpoint that is less than that if the group had this size before. An old member
    /// without a checkpoint has read nothing.
    pub(super) async fn starting_point(&self) -> Result<Option<Bookmark>, Error> {
        let stored = self.store.checkpoint(&self.checkpoint_name()).await?;
        let (Some(group), Some(old_size)) = (self.group, self.old_size) else {
            return Ok(stored);
        };
        let divisor = greatest_common_divisor(group.size(), old_size);
        let mut read = Vec::new();
        for member in (group.member() % divisor..old_size).step_by(divisor as usize) {
            let name = self.member_name(member, old_size);
            read.push(self.store.checkpoint(&name).await?);
        }
        let least = read
            .into_iter()
            .min_by_key(|place| position(*place))
            .flatten();
        Ok([least, stored]
            .into_iter()
            .max_by_key(|place| position(*place))
            .flatten())
    }

    /// Keeps the place that a member of a group has read to, for a group of another size. It is saved
    /// with the next messages, or at the end of the run.
    pub(super) fn note_read(&mut self, read: Option<Bookmark>) {
        if self.group.is_some() && position(read) > self.progress.position() {
            self.read_to = read;
        }
    }

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
        let handled = self.unsaved.as_ref().map(|unsaved| unsaved.handled);
        let places = [handled, self.read_to].into_iter();
        if let Some(place) = places.max_by_key(|place| position(*place)).flatten() {
            let name = self.checkpoint_name();
            self.store.save_checkpoint(&name, place).await?;
            (self.unsaved, self.read_to) = (None, None);
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

fn position(place: Option<Bookmark>) -> Option<GlobalPosition> {
    place.map(|place| place.position)
}

fn greatest_common_divisor(one: u32, other: u32) -> u32 {
    match other {
        0 => one,
        _ => greatest_common_divisor(other, one % other),
    }
}
