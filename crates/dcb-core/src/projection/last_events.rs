use std::collections::BTreeMap;

use crate::{Events, Position, ReadOptions, SequencedEvent};

/// The events that the backward reads of a projection find.
///
/// All reads are of one snapshot, the one of the first read: the log up to its head never changes.
pub(crate) struct LastEvents {
    after: Option<Position>,
    /// The head of the snapshot; `None` before the first read.
    head: Option<Option<Position>>,
    events: BTreeMap<Position, SequencedEvent>,
}

impl LastEvents {
    /// For reads of the positions after `after`, in the snapshot with this head.
    pub(crate) fn new(after: Option<Position>, head: Option<Option<Position>>) -> Self {
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
        let from = self.head.flatten();
        ReadOptions::new().backwards().from(from).limit(limit)
    }

    /// Adds the events of a read.
    pub(crate) fn add(&mut self, read: Events) {
        // A replica may be behind the server of the first read. Then the condition must cover the
        // events that it lacks.
        let head = self.head.map_or(read.head, |head| head.min(read.head));
        self.head = Some(head);
        let new = read
            .events
            .into_iter()
            .map(|event| (event.position(), event));
        self.events
            .extend(new.filter(|(position, _)| Some(*position) > self.after));
    }

    /// The head of the snapshot.
    pub(crate) fn head(&self) -> Option<Position> {
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
