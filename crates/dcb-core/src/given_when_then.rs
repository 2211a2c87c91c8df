//! Tests of decisions in three words: given these events, when this is decided, then those follow.

use std::fmt::{Debug, Write as _};

use serde_json::Value;

use crate::{Event, EventStore, MemoryStore, Position, Query, ReadOptions, SequencedEvent};

/// A log of its own with these events, for one decision.
///
/// The decision runs on a [`MemoryStore`], whose conditions are real, so anything that takes an
/// [`EventStore`] can be tested: a [`DecisionModel`](crate::DecisionModel), or a function around
/// one.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{given, DecisionModel, Error, Event, Projector, Query};
///
/// let offered = || Event::builder("CourseOffered").tag("course_id:c1").build();
/// let once = DecisionModel::new(Projector::exists(Query::builder().tag("course_id:c1").build()?));
///
/// let offer = async |store: &_| once.decide(store, |there| match there {
///     true => Ok::<Vec<Event>, Error>(Vec::new()),
///     false => Ok(vec![offered()?]),
/// }).await;
/// given([]).await.when(&offer).await.then([offered()?]);
/// given([offered()?]).await.when(&offer).await.then_nothing();
/// # Ok(()) }
/// ```
///
/// # Panics
/// Where the events can't be appended to an empty log: one of them is larger than the default
/// [`Limits`](crate::Limits) allow, or two have the same id and not the same content.
pub async fn given(events: impl IntoIterator<Item = Event>) -> Given {
    let store = MemoryStore::new();
    for event in events {
        let appended = store.append(event).await;
        appended.expect("the given events can be appended");
    }
    Given { store }
}

/// What had happened before the decision.
#[derive(Debug)]
#[must_use]
pub struct Given {
    store: MemoryStore,
}

/// What the decision came to.
#[derive(Debug)]
#[must_use]
pub struct Outcome<T, E> {
    result: Result<T, E>,
    appended: Vec<SequencedEvent>,
}

impl Given {
    /// Makes the decision.
    ///
    /// # Panics
    /// Where the log is not as long afterwards as it was before; nothing takes events out of it.
    pub async fn when<T, E>(
        self,
        decision: impl AsyncFnOnce(&MemoryStore) -> Result<T, E>,
    ) -> Outcome<T, E> {
        let readable = "a log in memory can be read";
        let before: Option<Position> = self.store.head().await.expect(readable);
        let result = decision(&self.store).await;
        let options = ReadOptions::new().after(before);
        let appended = self.store.query(&Query::all(), options).await;
        Outcome {
            result,
            appended: appended.expect(readable).events,
        }
    }
}

impl<T, E: Debug> Outcome<T, E> {
    /// The decision was made and appended these events, in this order. They are compared by type,
    /// tags and data, JSON by its meaning; by id and metadata as far as `expected` has them.
    ///
    /// # Panics
    /// Where it was refused or appended others; both sides are shown.
    #[track_caller]
    pub fn then(self, expected: impl Into<Vec<Event>>) -> T {
        let expected = expected.into();
        let made = match self.result {
            Ok(made) => made,
            Err(refused) => panic!("the decision was refused: {refused:?}"),
        };
        let same = expected.len() == self.appended.len()
            && expected
                .iter()
                .zip(&self.appended)
                .all(|(expected, appended)| is_as_expected(expected, appended));
        assert!(same, "{}", difference(&expected, &self.appended));
        made
    }

    /// The decision was made and appended nothing.
    ///
    /// # Panics
    /// Where it was refused or appended something.
    #[track_caller]
    pub fn then_nothing(self) -> T {
        self.then(Vec::new())
    }
}

impl<T: Debug, E> Outcome<T, E> {
    /// The decision was refused, for this reason, and appended nothing.
    ///
    /// # Panics
    /// Where it was made, or appended something before it was refused.
    #[track_caller]
    pub fn then_refused(self) -> E {
        let refused = match self.result {
            Ok(made) => panic!("the decision was made: {made:?}"),
            Err(refused) => refused,
        };
        assert!(
            self.appended.is_empty(),
            "{}",
            difference(&[], &self.appended)
        );
        refused
    }
}

fn is_as_expected(expected: &Event, appended: &SequencedEvent) -> bool {
    expected.event_type() == appended.event_type()
        && expected.tags().eq(appended.tags())
        && same_data(expected.data(), appended.data())
        && expected.id().is_none_or(|id| id == appended.id())
        && expected
            .metadata()
            .all(|(key, value)| appended.metadata_value(key) == Some(value))
}

fn same_data(expected: &[u8], appended: &[u8]) -> bool {
    let json = |data| serde_json::from_slice::<Value>(data);
    match (json(expected), json(appended)) {
        (Ok(expected), Ok(appended)) => expected == appended,
        _ => expected == appended,
    }
}

fn difference(expected: &[Event], appended: &[SequencedEvent]) -> String {
    let mut text = String::from("the decision appended other events\nexpected:\n");
    // Writing to a String does not fail.
    for event in expected {
        let _ = writeln!(text, "  {event:?}");
    }
    text.push_str("appended:\n");
    for event in appended {
        let _ = writeln!(text, "  {event:?}");
    }
    text
}
