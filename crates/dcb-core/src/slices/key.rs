use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::{Error, SequencedEvent};

/// The key of an event: events with the same key are handled in order, one after the other.
///
/// The slice of a key is its XXH3 hash (64 bits, seed 0, of its UTF-8 bytes) modulo the number of
/// slices. This never changes, so checkpoints stay valid.
///
/// Each event must have exactly one key. An event without one is an error, unless
/// [`SliceKey::or_without`] gives these events a key together. An event with several tags of the key is
/// always an error: two slices would handle it, at different times, and a handler that writes rows of
/// both keys would write them twice. Use [`SliceKey::by`] to choose one.
#[derive(Clone)]
pub struct SliceKey {
    of: Of,
    without: Option<Arc<str>>,
}

#[derive(Clone)]
enum Of {
    Tag(Arc<str>),
    Function(Arc<KeyOf>),
}

/// The positions of a range that is applied in order. A change would send events to other slices.
const RANGE: u64 = 256;

type KeyOf = dyn Fn(&SequencedEvent) -> Option<String> + Send + Sync;

impl SliceKey {
    /// The value of the event's tag `name:value`.
    ///
    /// ```
    /// use dcb_core::SliceKey;
    ///
    /// assert_eq!(SliceKey::slice_of("c1", 64), 2);
    /// let _by_course = SliceKey::tag("course_id");
    /// ```
    pub fn tag(name: impl Into<Arc<str>>) -> Self {
        Self::of(Of::Tag(name.into()))
    }

    /// The key that a function reads from the event, `None` without one. It must always return the
    /// same key for the same event.
    pub fn by(key: impl Fn(&SequencedEvent) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::of(Of::Function(Arc::new(key)))
    }

    /// For handlers that are right in any order, such as counters, or the last value by position: each 256
    /// positions of the log have a key, so the workers apply these ranges in parallel. No event needs a
    /// tag, and a tag that most events have slows nothing.
    ///
    /// ```
    /// use dcb_core::{Event, EventStore, MemoryStore, Query, ReadOptions, SliceKey};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), dcb_core::Error> {
    /// let store = MemoryStore::new();
    /// store.append(Event::builder("CourseOffered").build()?).await?;
    /// let read = store.query(&Query::all(), ReadOptions::new()).await?;
    /// assert_eq!(SliceKey::any_order().key(&read.events[0])?, "0");
    /// # Ok(()) }
    /// ```
    pub fn any_order() -> Self {
        Self::by(|event| Some((event.position().get() / RANGE).to_string()))
    }

    fn of(of: Of) -> Self {
        Self { of, without: None }
    }

    /// Gives `key` to all events that have none, so that they are handled in order in one slice.
    #[must_use]
    pub fn or_without(mut self, key: impl Into<Arc<str>>) -> Self {
        self.without = Some(key.into());
        self
    }

    /// The slice of a key, from 0.
    pub fn slice_of(key: &str, slices: u32) -> u32 {
        (xxh3_64(key.as_bytes()) % u64::from(slices.max(1))) as u32
    }

    /// The key of the event.
    ///
    /// # Errors
    /// [`Error::NotOneKey`] if the event has no key, or several.
    pub fn key(&self, event: &SequencedEvent) -> Result<String, Error> {
        self.with_key(event, str::to_owned)
    }

    /// The slice of the event.
    pub(super) fn slice(&self, event: &SequencedEvent, slices: u32) -> Result<u32, Error> {
        self.with_key(event, |key| Self::slice_of(key, slices))
    }

    fn with_key<T>(
        &self,
        event: &SequencedEvent,
        then: impl FnOnce(&str) -> T,
    ) -> Result<T, Error> {
        let (key, found) = match &self.of {
            Of::Tag(name) => {
                let mut values = event
                    .tags()
                    .filter_map(|tag| tag.strip_prefix(&**name)?.strip_prefix(':'));
                let first = values.next().map(Cow::Borrowed);
                let found = usize::from(first.is_some()) + values.count();
                (first, found)
            }
            Of::Function(key) => {
                let key = key(event).map(Cow::Owned);
                let found = usize::from(key.is_some());
                (key, found)
            }
        };
        match (key, &self.without) {
            (Some(key), _) if found == 1 => Ok(then(&key)),
            (None, Some(without)) => Ok(then(without)),
            _ => Err(Error::NotOneKey {
                position: event.position(),
                found,
            }),
        }
    }
}

impl fmt::Debug for SliceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = match &self.of {
            Of::Tag(name) => name,
            Of::Function(_) => "a function",
        };
        formatter.debug_tuple("SliceKey").field(&of).finish()
    }
}
