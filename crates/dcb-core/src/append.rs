use std::time::Instant;

use crate::trace::stamped;
use crate::{AppendCondition, Command, Event, Position, Tracking};

/// Events to append in one commit, with the conditions under which the commit may happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The events, at least one, in order.
    pub events: Vec<Event>,
    /// The append fails unless all of these conditions hold. Empty for an unconditional append.
    pub conditions: Vec<AppendCondition>,
    /// The upstream position that caused the events.
    pub tracking: Option<Tracking>,
    /// The command that caused the events, stored with them.
    pub command: Option<Command>,
    /// When the caller's time ends, if that is before the store's own limit.
    pub(crate) deadline: Option<Instant>,
}

impl Append {
    /// Creates an unconditional append of these events. With the feature `otel`, they get the trace of the
    /// current span as metadata, see [`Event::TRACEPARENT`].
    pub fn new(events: impl Into<Vec<Event>>) -> Self {
        Self::of(stamped(events.into()))
    }

    /// An unconditional append of events that have their trace already.
    pub(crate) fn of(events: Vec<Event>) -> Self {
        Self {
            events,
            conditions: Vec::new(),
            tracking: None,
            command: None,
            deadline: None,
        }
    }

    /// Appends only if this condition holds too. All conditions of an append must hold, each with
    /// its own query and `after`.
    #[must_use]
    pub fn condition(mut self, condition: AppendCondition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Appends only if these conditions hold too.
    ///
    /// ```
    /// # use dcb_core::{Append, Error, Event, EventStore, MemoryStore, Projector, Query};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Error> {
    /// # let store = MemoryStore::new();
    /// # let count = |tag: &str| -> Result<_, Error> {
    /// #     Ok(Projector::counter(Query::builder().tag(tag).build()?))
    /// # };
    /// // Two states, read at different times. Each has a condition with its own `after`.
    /// let course = store.project(&count("course_id:c1")?).await?;
    /// let student = store.project(&count("student_id:s1")?).await?;
    /// let enrolled = Event::builder("EnrollmentCompleted").build()?;
    /// let append = Append::new(enrolled).conditions([course.condition, student.condition]);
    /// store.submit(append).await?;
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn conditions(mut self, conditions: impl IntoIterator<Item = AppendCondition>) -> Self {
        self.conditions.extend(conditions);
        self
    }

    /// Appends only if this upstream position is greater than the last one tracked for its source,
    /// and tracks it in the same commit.
    #[must_use]
    pub fn tracking(mut self, tracking: Tracking) -> Self {
        self.tracking = Some(tracking);
        self
    }

    /// Stores this command in the same commit.
    #[must_use]
    pub fn command(mut self, command: Command) -> Self {
        self.command = Some(command);
        self
    }
}

/// The positions of the events of an append.
#[derive(Clone, Debug, Eq)]
pub struct Appended {
    first: Position,
    /// Empty if the positions are consecutive, as they are for a single commit.
    scattered: Vec<Position>,
    count: usize,
    /// Whether an earlier append stored the events, so that this one checked no condition.
    is_found: bool,
}

/// Equal positions are equal, whichever append stored the events.
impl PartialEq for Appended {
    fn eq(&self, other: &Self) -> bool {
        (self.first, &self.scattered, self.count) == (other.first, &other.scattered, other.count)
    }
}

impl Appended {
    /// The positions of `count` events at consecutive positions from `first`. Only implementations
    /// of stores need this.
    pub fn contiguous(first: Position, count: usize) -> Self {
        Self {
            first,
            scattered: Vec::new(),
            count,
            is_found: false,
        }
    }

    /// The positions of events that earlier appends stored; `None` if `positions` is empty. Only
    /// implementations of stores need this.
    pub fn found(positions: Vec<Position>) -> Option<Self> {
        let (&first, count) = (positions.first()?, positions.len());
        let is_contiguous = (first.get()..)
            .zip(&positions)
            .all(|(number, position)| position.get() == number);
        Some(Self {
            first,
            scattered: if is_contiguous { Vec::new() } else { positions },
            count,
            is_found: true,
        })
    }

    /// Whether an earlier append stored the events, so that this one checked no condition.
    pub fn is_found(&self) -> bool {
        self.is_found
    }

    /// The position of each event, in the order of the append.
    pub fn positions(&self) -> impl Iterator<Item = Position> {
        let consecutive = std::iter::successors(Some(self.first), |position| Some(position.next()));
        // One chain for both forms gives the iterator a single type.
        let contiguous = if self.scattered.is_empty() {
            self.count
        } else {
            0
        };
        consecutive
            .take(contiguous)
            .chain(self.scattered.iter().copied())
    }

    /// The position of the first event.
    pub fn first(&self) -> Position {
        self.first
    }

    /// The position of the last event.
    pub fn last(&self) -> Position {
        self.positions().last().unwrap_or(self.first)
    }
}
