//! A wrapper that adds one fault to a correct store.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dcb_core::{
    Append, Appended, Bookmark, Error, Event, EventStore, EventStream, Events, MemoryStore,
    Position, Query, ReadOptions,
};
use futures_util::FutureExt as _;

/// A fault. Each has occurred in some event store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    IgnoresAfter,
    ChecksOnlyTheFirstItem,
    ChecksOnlyTheFirstCondition,
    TakesTheLastAfterForAll,
    NamesTheWrongCondition,
    UsesAPositionOnConflict,
    ChecksBeforeLocking,
    ForgetsIds,
    ReformatsJson,
    SplitsTagsAtCommas,
    ReadsTheHeadLater,
    AssignsPositionsBeforeTheCommit,
    AcceptsAfterBeyondTheHead,
    LimitsBeforeReversing,
    DropsCommands,
    HoldsALockWhileNotPolled,
}

/// The type of the events that fill wasted positions. Reads leave these events out.
const WASTED: &str = "Wasted";

pub(crate) struct Faulty {
    store: MemoryStore,
    fault: Fault,
    /// Positions whose events are not committed yet.
    uncommitted: Mutex<BTreeSet<Position>>,
    /// Held by the one append that is running.
    appending: tokio::sync::Mutex<()>,
}

impl Faulty {
    pub(crate) fn new(store: MemoryStore, fault: Fault) -> Self {
        Self {
            store,
            fault,
            uncommitted: Mutex::default(),
            appending: tokio::sync::Mutex::default(),
        }
    }

    fn uncommitted(&self) -> MutexGuard<'_, BTreeSet<Position>> {
        self.uncommitted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends, but commits every other append late. Its events have their positions before that, as
    /// if a sequence assigned them, and events with higher positions are visible earlier.
    async fn submit_late(&self, append: Append) -> Result<Appended, Error> {
        let appended = {
            let mut uncommitted = self.uncommitted();
            let answer = self.store.submit(append);
            let appended = answer
                .now_or_never()
                .expect("the memory store never waits")?;
            if appended.first().get() % 2 == 0 {
                return Ok(appended);
            }
            uncommitted.extend(appended.positions());
            appended
        };
        tokio::time::sleep(Duration::from_micros(50)).await;
        let mut uncommitted = self.uncommitted();
        for position in appended.positions() {
            uncommitted.remove(&position);
        }
        drop(uncommitted);
        Ok(appended)
    }

    /// Appends in the caller's future, as long as no other append does.
    async fn submit_under_lock(&self, append: Append) -> Result<Appended, Error> {
        let limit = Duration::from_secs(1);
        let locked = tokio::time::timeout(limit, self.appending.lock()).await;
        let _appending = locked.map_err(|_| {
            Error::Fault(dcb_core::Fault::TimedOut {
                operation: "append",
                limit,
            })
        })?;
        // About as long as a round trip to a database.
        tokio::time::sleep(Duration::from_micros(50)).await;
        self.store.submit(append).await
    }

    /// The events that a reader sees while some appends are not committed.
    fn read_committed(&self, query: &Query, options: ReadOptions) -> Result<Events, Error> {
        let uncommitted = self.uncommitted();
        let mut all = options;
        all.limit = all.limit.filter(|_| uncommitted.is_empty());
        let read = self.store.query(query, all).now_or_never();
        let mut read = read.expect("the memory store never waits")?;
        read.events
            .retain(|event| !uncommitted.contains(&event.position()));
        if let Some(limit) = options.limit {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            read.events.truncate(limit);
        }
        while let Some(head) = read.head
            && uncommitted.contains(&head.position)
        {
            let before = Position::new(head.position.get() - 1);
            read.head = before.map(Bookmark::from);
        }
        Ok(read)
    }

    async fn spoil(&self, mut append: Append) -> Append {
        match self.fault {
            Fault::IgnoresAfter => {
                for condition in &mut append.conditions {
                    condition.after = None;
                }
            }
            Fault::DropsCommands => append.command = None,
            Fault::ChecksOnlyTheFirstItem => {
                for condition in &mut append.conditions {
                    condition.fail_if_events_match = first_item(&condition.fail_if_events_match);
                }
            }
            Fault::ChecksOnlyTheFirstCondition => append.conditions.truncate(1),
            Fault::TakesTheLastAfterForAll => {
                let last = append.conditions.last().and_then(|last| last.after);
                for condition in &mut append.conditions {
                    condition.after = last;
                }
            }
            Fault::AcceptsAfterBeyondTheHead => {
                let head = self.store.head().await.ok().flatten();
                let head = Bookmark::position_of(head);
                for condition in &mut append.conditions {
                    let after = Bookmark::position_of(condition.after);
                    condition.after = after.min(head).map(Bookmark::from);
                }
            }
            Fault::ForgetsIds | Fault::ReformatsJson | Fault::SplitsTagsAtCommas => {
                append.events = append
                    .events
                    .iter()
                    .map(|event| self.rebuild(event))
                    .collect();
            }
            _ => {}
        }
        append
    }

    fn rebuild(&self, event: &Event) -> Event {
        let mut builder = Event::builder(event.event_type());
        if let Some(id) = event.id().filter(|_| self.fault != Fault::ForgetsIds) {
            builder = builder.id(id);
        }
        for tag in event.tags() {
            let parts = tag.split(',').filter(|part| !part.is_empty());
            builder = match self.fault {
                Fault::SplitsTagsAtCommas => builder.tags(parts),
                _ => builder.tag(tag),
            };
        }
        builder = event.metadata().fold(builder, |builder, (key, value)| {
            builder.metadata(key, value)
        });
        match event.json::<serde_json::Value>() {
            Ok(value) if self.fault == Fault::ReformatsJson => builder.json(&value),
            _ => builder.data(event.data()),
        }
        .build()
        .expect("the parts of a valid event are valid")
    }

    /// Checks the conditions by separate reads, outside the append.
    async fn check(&self, append: &Append) -> Result<(), Error> {
        let mut conflicts = Vec::new();
        for (index, condition) in append.conditions.iter().enumerate() {
            let options = ReadOptions::new().after(condition.after).limit(1);
            let query = &condition.fail_if_events_match;
            let found = self.store.query(query, options).await?;
            conflicts.extend(found.events.first().map(|event| (event.position(), index)));
        }
        if !append.conditions.is_empty() {
            // About as long as a round trip to a database.
            tokio::time::sleep(Duration::from_micros(50)).await;
        }
        match conflicts.into_iter().min() {
            Some((position, condition)) => Err(Error::Conflict {
                position,
                condition,
            }),
            None => Ok(()),
        }
    }
}

fn first_item(query: &Query) -> Query {
    match query.items().first() {
        Some(item) => Query::new([item.clone()]).expect("a query needs one item"),
        None => Query::all(),
    }
}

impl EventStore for Faulty {
    async fn submit(&self, append: Append) -> Result<Appended, Error> {
        let mut append = self.spoil(append).await;
        if self.fault == Fault::ChecksBeforeLocking {
            self.check(&append).await?;
            append.conditions.clear();
        }
        if self.fault == Fault::AssignsPositionsBeforeTheCommit {
            return self.submit_late(append).await;
        }
        if self.fault == Fault::HoldsALockWhileNotPolled {
            return self.submit_under_lock(append).await;
        }
        let answer = self.store.submit(append).await;
        if self.fault == Fault::UsesAPositionOnConflict
            && matches!(answer, Err(Error::Conflict { .. }))
        {
            self.store.append(Event::builder(WASTED).build()?).await?;
        }
        match answer {
            Err(Error::Conflict { position, .. })
                if self.fault == Fault::NamesTheWrongCondition =>
            {
                Err(Error::Conflict {
                    position,
                    condition: 0,
                })
            }
            answer => answer,
        }
    }

    async fn query_stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        if self.fault == Fault::LimitsBeforeReversing && options.backwards {
            let mut read = self
                .store
                .query(query, ReadOptions::new().limit(options.limit))
                .await?;
            read.events.reverse();
            let events = futures_util::stream::iter(read.events.into_iter().map(Ok));
            return Ok(EventStream::new(read.head, events));
        }
        let mut read = self.read_committed(query, options)?;
        if self.fault == Fault::ReadsTheHeadLater {
            tokio::time::sleep(Duration::from_micros(50)).await;
            read.head = self.store.head().await?;
        }
        read.events.retain(|event| event.event_type() != WASTED);
        let events = futures_util::stream::iter(read.events.into_iter().map(Ok));
        Ok(EventStream::new(read.head, events))
    }

    async fn head(&self) -> Result<Option<Bookmark>, Error> {
        let read = self.read_committed(&Query::all(), ReadOptions::new().limit(0))?;
        Ok(read.head)
    }

    dcb_core::forward_event_store! { self { Self { store, .. } => store }
        count exists tracked commands projection_limit notifications health stats close
    }
}
