use std::collections::VecDeque;

use crate::{Error, EventStore, Position, RecordedCommand};

/// Commands per read.
const PAGE: u64 = 500;

/// Finds the command of each event of a forward read, in constant memory.
pub(super) struct Commands<'s, S> {
    store: &'s S,
    /// Each command after the position of its last event.
    page: VecDeque<(Position, RecordedCommand)>,
    /// The last command that was read.
    after: Option<Position>,
    is_over: bool,
}

impl<'s, S: EventStore> Commands<'s, S> {
    pub(super) fn new(store: &'s S) -> Self {
        Self {
            store,
            page: VecDeque::new(),
            after: None,
            is_over: false,
        }
    }

    /// The command of the event at this position. Positions must not decrease from call to call.
    pub(super) async fn of(
        &mut self,
        position: Position,
    ) -> Result<Option<&RecordedCommand>, Error> {
        loop {
            while self
                .page
                .pop_front_if(|(last, _)| *last < position)
                .is_some()
            {}
            if !self.page.is_empty() || self.is_over {
                break;
            }
            let page = self.store.commands(self.after, PAGE).await?;
            self.is_over = page.is_empty();
            self.after = page.last().map(RecordedCommand::position);
            self.page = page.into_iter().map(with_last).collect();
        }
        let first = self.page.front().map(|(_, command)| command);
        Ok(first.filter(|first| first.position() <= position))
    }
}

fn with_last(command: RecordedCommand) -> (Position, RecordedCommand) {
    let last = command.positions().last();
    (last.unwrap_or(command.position()), command)
}
