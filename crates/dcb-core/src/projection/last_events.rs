use std::collections::BTreeMap;

use crate::{Bookmark, Events, Position, ReadOptions, SequencedEvent};

/// The events that the backward reads of a projection find.
///
/// All reads are of one snapshot, the one of the first read: the log up to its head never changes.
pub(crate) struct LastEvents {
    after: Option<Bookmark>,
    /// The head of the snapshot; `None` before the first read.
    head: Option<Option<Bookmark>>,
    events: BTreeMap<Position, SequencedEvent>,
}

impl LastEvents {
    /// For reads of the positions after `after`, in the snapshot with this head.
    pub(crate) fn new(after: Option<Bookmark>, head: Option<Option<Bookmark>>) -> Self {
        Self {
            after,
            head,
            events: BTreeMap::new(),
        }
    }

    /// The options of the next read.
    pub(crate) fn options(&self) -> ReadOptions {
        // `from` can't name the snapshot of an empty log.
        let limit = u64::from(self.head != Some(None));
        let from = Bookmark::position_of(self.head());
        ReadOptions::new().backwards().from(from).limit(limit)
    }

    /// Adds the events of a read.
    pub(crate) fn add(&mut self, read: Events) {
        // A replica may be behind the server of the first read. Then the condition must cover the
        // events that it lacks.
        let heads = self.head.into_iter().chain([read.head]);
        self.head = heads.min_by_key(|head| Bookmark::position_of(*head));
        let after = Bookmark::position_of(self.after);
        let new = read
            .events
            .into_iter()
            .map(|event| (event.position(), event));
        self.events
            .extend(new.filter(|(position, _)| Some(*position) > after));
    }

    /// The head of the snapshot.
    pub(crate) fn head(&self) -> Option<Bookmark> {
        self.head.flatten()
    }

    /// Takes the events before `event`, and drops `event` itself if it was found.
    pub(crate) fn before(
        &mut self,
        event: &SequencedEvent,
    ) -> impl Iterator<Item = SequencedEvent> + use<> {
        let mut later = self.events.split_off(&event.position());
        later.remove(&event.position());
        std::mem::replace(&mut self.events, later).into_values()
    }

    /// The events that are left, in the order of the log.
    pub(crate) fn rest(self) -> impl Iterator<Item = SequencedEvent> {
        self.events.into_values()
    }
}
