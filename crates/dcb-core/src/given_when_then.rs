//! Tests of decisions: given past events, when a decision is made, then it appends certain events.

use std::fmt::{Debug, Write as _};
use std::time::SystemTime;

use serde_json::Value;

use crate::{Append, Event, EventStore, MemoryStore, Query, ReadOptions, SequencedEvent};

/// Creates a fresh log with these events, for one decision.
///
/// The decision runs on a [`MemoryStore`], which checks conditions like any other store. So you can
/// test any code that takes an [`EventStore`], such as a [`DecisionModel`](crate::DecisionModel).
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{given, DecisionModel, Error, Event, Projector};
///
/// let offered = || Event::builder("CourseOffered").tag("course_id:c1").build();
/// let once = DecisionModel::new(
///     Projector::builder(false)
///         .on("CourseOffered", |offered, _| *offered = true)
///         .tag("course_id:c1")
///         .build()?,
/// );
///
/// let offer = async |store: &_| once.decide(store, |there| match there {
///     true => Ok::<Vec<Event>, Error>(Vec::new()),
///     false => Ok(vec![offered()?]),
/// }).await;
/// given([]).when(&offer).await.then([offered()?]);
/// given([offered()?]).when(&offer).await.then_nothing();
/// # Ok(()) }
/// ```
///
/// # Panics
/// If the events can't be appended to an empty log: one exceeds the default
/// [`Limits`](crate::Limits), or two have the same id but different content.
pub fn given(events: impl IntoIterator<Item = Event>) -> Given {
    let store = MemoryStore::new();
    Given { store }.and_at(SystemTime::now(), events)
}

/// The log before the decision.
#[derive(Debug)]
#[must_use]
pub struct Given {
    store: MemoryStore,
}

/// The outcome of the decision.
#[derive(Debug)]
#[must_use]
pub struct Outcome<T, E> {
    result: Result<T, E>,
    appended: Vec<SequencedEvent>,
}

impl Given {
    /// Adds events that were recorded at this time, for decisions that depend on the age of events.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// use std::time::{Duration, SystemTime};
    ///
    /// use dcb_core::{Error, Event, EventStore, MemoryStore, Query, ReadOptions, given};
    ///
    /// const HOUR: Duration = Duration::from_secs(3600);
    /// let issued = Event::builder("TokenIssued").build()?;
    /// let is_expired = async |store: &MemoryStore| {
    ///     let tokens = store.query(&Query::all(), ReadOptions::new()).await?;
    ///     let age = SystemTime::now().duration_since(tokens.events[0].recorded_at());
    ///     Ok::<bool, Error>(age.unwrap_or_default() > HOUR)
    /// };
    /// let old = given([]).and_at(SystemTime::now() - 2 * HOUR, [issued.clone()]);
    /// assert!(old.when(is_expired).await.then_nothing());
    /// assert!(!given([issued]).when(is_expired).await.then_nothing());
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    /// If the events can't be appended, as for [`given`].
    pub fn and_at(self, recorded_at: SystemTime, events: impl IntoIterator<Item = Event>) -> Self {
        for event in events {
            // Append each event alone, so that the limit on events per append does not apply.
            let appended = self.store.submit_at(Append::new(event), recorded_at);
            appended.expect("the given events should be valid");
        }
        self
    }

    /// Adds events as a store returned them, for example to test a decision on a part of a real log.
    /// They keep their ids and times, and get new positions.
    ///
    /// # Panics
    /// If the events can't be appended, as for [`given`].
    pub fn and_stored(self, events: impl IntoIterator<Item = SequencedEvent>) -> Self {
        events.into_iter().fold(self, |given, event| {
            given.and_at(event.recorded_at(), [event.into_event()])
        })
    }

    /// Makes the decision.
    ///
    /// # Panics
    /// If the log is shorter afterwards, which no call on a [`MemoryStore`] can cause.
    pub async fn when<T, E>(
        self,
        decision: impl AsyncFnOnce(&MemoryStore) -> Result<T, E>,
    ) -> Outcome<T, E> {
        let readable = "reading from memory should not fail";
        let before = self.store.head().await.expect(readable);
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
    /// Asserts that the decision succeeded and appended exactly these events, in this order.
    ///
    /// Types, tags and data have to be equal; JSON data is compared by value. Ids and metadata are
    /// compared only if `expected` sets them.
    ///
    /// # Panics
    /// If the decision was refused or appended other events. The message shows both lists.
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

    /// Asserts that the decision succeeded and appended nothing.
    ///
    /// # Panics
    /// If the decision was refused or appended events.
    #[track_caller]
    pub fn then_nothing(self) -> T {
        self.then(Vec::new())
    }
}

impl<T: Debug, E> Outcome<T, E> {
    /// Asserts that the decision was refused and appended nothing, and returns its error.
    ///
    /// # Panics
    /// If the decision succeeded, or appended events before it was refused.
    #[track_caller]
    pub fn then_refused(self) -> E {
        let refused = match self.result {
            Ok(made) => panic!("the decision was not refused: {made:?}"),
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
    // Key order and whitespace of JSON carry no meaning; other data must match byte for byte.
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
