mod body;
mod builder;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use uuid::Uuid;

use body::Body;
pub use builder::EventBuilder;

use crate::{Bookmark, Error, Position};

/// An event to append.
///
/// Type, tags, metadata and data are in one buffer, so an event is one allocation. Tags form a set:
/// sorted, without duplicates. Metadata keeps its order.
///
/// ```
/// # fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::Event;
///
/// let event = Event::builder("EnrollmentCompleted")
///     .tag("course_id:c1")
///     .tag_pair("student_id", 7)
///     .json(&serde_json::json!({"grade": "A"}))
///     .build()?;
/// assert!(event.has_tag("student_id:7"));
/// assert_eq!(event.data(), br#"{"grade":"A"}"#);
/// # Ok(()) }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Event {
    id: Option<Uuid>,
    /// Whether this process generated the id for this append, so no log can have it yet.
    is_id_new: bool,
    /// Boxed, because few events bring one, and every queue moves events.
    recorded_at: Option<Box<SystemTime>>,
    body: Body,
}

/// An event in the log.
#[derive(Clone, PartialEq, Eq)]
pub struct SequencedEvent {
    position: Position,
    recorded_at: SystemTime,
    id: Uuid,
    body: Body,
}

/// The accessors that [`Event`] and [`SequencedEvent`] share.
macro_rules! body_accessors {
    ($event:ty) => {
        impl $event {
            /// The type.
            pub fn event_type(&self) -> &str {
                self.body.event_type()
            }

            /// The tags, sorted and without duplicates.
            pub fn tags(&self) -> impl Iterator<Item = &str> {
                self.body.tags()
            }

            /// Whether the event carries this tag.
            pub fn has_tag(&self, tag: &str) -> bool {
                self.body.has_tag(tag)
            }

            /// Whether the event is of this type.
            pub fn is_of_type(&self, event_type: &str) -> bool {
                self.body.is_of_type(event_type)
            }

            /// The value of the first tag `key:value` with this key.
            pub fn tag_value(&self, key: &str) -> Option<&str> {
                self.tags()
                    .find_map(|tag| tag.strip_prefix(key)?.strip_prefix(':'))
            }

            /// The metadata entries in the caller's order; keys are unique.
            pub fn metadata(&self) -> impl Iterator<Item = (&str, &str)> {
                self.body.metadata()
            }

            /// The metadata value for `key`.
            pub fn metadata_value(&self, key: &str) -> Option<&str> {
                self.metadata()
                    .find_map(|(entry, value)| (entry == key).then_some(value))
            }

            /// The version of the data's shape, as set by [`EventBuilder::version`]. Default: 1.
            pub fn version(&self) -> u32 {
                let set = self.metadata_value(Event::VERSION);
                // Metadata is free text, so an unreadable version counts as missing.
                set.and_then(|text| text.parse().ok()).unwrap_or(1)
            }

            /// The data, byte for byte.
            pub fn data(&self) -> &[u8] {
                self.body.data()
            }

            /// The size of type, tags, metadata and data in bytes, plus one byte for each tag, each
            /// metadata key and each metadata value.
            pub fn size_bytes(&self) -> usize {
                self.body.len()
            }
        }
    };
}

body_accessors!(Event);
body_accessors!(SequencedEvent);

impl Event {
    /// The metadata key that links all events of one request.
    pub const CORRELATION_ID: &'static str = "correlationId";
    /// The metadata key for the id of the event or command that caused this event.
    pub const CAUSATION_ID: &'static str = "causationId";
    /// The metadata key for the version of the data's shape.
    pub const VERSION: &'static str = "schemaVersion";
    /// The metadata key for the span in which the event was appended, in the form of W3C Trace Context. With
    /// the feature `otel`, a store sets it; see the [crate's documentation](crate#traces). It is no content
    /// of the event, because a repeated append is often of another trace.
    pub const TRACEPARENT: &'static str = store_meter::trace::TRACEPARENT;

    /// Builds an event of this type.
    pub fn builder(event_type: impl Into<String>) -> EventBuilder {
        EventBuilder::new(event_type.into())
    }

    /// The id that makes a repeated append idempotent. A store generates a missing id.
    pub fn id(&self) -> Option<Uuid> {
        self.id.filter(|_| !self.is_id_new)
    }

    /// The id that a store gives to the event: the caller's, or a new one. Only implementations of
    /// stores need this.
    // Version 7 is ordered by time, so new ids are neighbours in an index.
    pub fn id_or_new(&self) -> Uuid {
        self.id.unwrap_or_else(Uuid::now_v7)
    }

    /// The time at which another log recorded the event, in whole microseconds. A store keeps it instead of
    /// the time of the append. See [`EventBuilder::recorded_at`].
    pub fn recorded_at(&self) -> Option<SystemTime> {
        self.recorded_at.as_deref().copied()
    }

    /// Adds a metadata entry that is valid and not there yet. Does nothing if the event would be too large.
    pub(crate) fn add_metadata(&mut self, key: &str, value: &str) {
        if let Some(body) = self.body.with_metadata(key, value) {
            self.body = body;
        }
    }

    /// The same event, with a new id if it has none. [`Event::id`] does not return the new id.
    pub(crate) fn with_new_id(mut self) -> Self {
        if self.id.is_none() {
            self.id = Some(Uuid::now_v7());
            self.is_id_new = true;
        }
        self
    }

    /// Decodes the data from JSON.
    ///
    /// # Errors
    /// [`Error::Json`] if the data is not JSON of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(self.data()).map_err(|error| Error::Json {
            source: Arc::new(error),
        })
    }

    /// A builder with the fields of this event, its id included.
    ///
    /// ```
    /// # fn main() -> Result<(), dcb_core::Error> {
    /// use dcb_core::Event;
    ///
    /// let event = Event::builder("EnrollmentCompleted").tag("course_id:c1").build()?;
    /// let traced = event.to_builder().correlation_id("request-7").build()?;
    /// assert!(traced.has_tag("course_id:c1"));
    /// # Ok(()) }
    /// ```
    pub fn to_builder(&self) -> EventBuilder {
        let builder = Self::builder(self.event_type())
            .tags(self.tags())
            .data(self.data());
        let builder = self.id().into_iter().fold(builder, EventBuilder::id);
        let time = self.recorded_at().into_iter();
        let builder = time.fold(builder, EventBuilder::recorded_at);
        self.metadata().fold(builder, |builder, (key, value)| {
            builder.metadata(key, value)
        })
    }

    /// The same event with this id.
    #[must_use]
    pub fn with_id(mut self, id: Uuid) -> Self {
        self.id = Some(id);
        self.is_id_new = false;
        self
    }

    /// The event as stored in the log, with `recorded_at` unless it brings its own time. Only
    /// implementations of stores need this.
    pub fn into_sequenced(
        self,
        position: Position,
        recorded_at: SystemTime,
        id: Uuid,
    ) -> SequencedEvent {
        SequencedEvent {
            position,
            recorded_at: self.recorded_at().unwrap_or(recorded_at),
            id,
            body: self.body,
        }
    }
}

/// The parts of a stored event, borrowed from a database row.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) struct StoredEvent<'a, T, M> {
    pub(crate) position: Position,
    pub(crate) recorded_at: SystemTime,
    pub(crate) id: Uuid,
    pub(crate) event_type: &'a str,
    pub(crate) tags: T,
    pub(crate) metadata: M,
    pub(crate) data: &'a [u8],
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl<'a, T, M> StoredEvent<'a, T, M>
where
    T: Iterator<Item = &'a str> + Clone,
    M: Iterator<Item = (&'a str, &'a str)> + Clone,
{
    /// Builds the event with a single allocation.
    pub(crate) fn into_event(self) -> Result<SequencedEvent, Error> {
        let body = Body::pack(self.event_type, self.tags, self.metadata, self.data)?;
        let Self {
            position,
            recorded_at,
            id,
            ..
        } = self;
        Ok(SequencedEvent {
            position,
            recorded_at,
            id,
            body,
        })
    }
}

impl SequencedEvent {
    /// The position in the log.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The position and the id. A reader that has handled this event goes on after them.
    pub fn bookmark(&self) -> Bookmark {
        Bookmark::new(self.position, self.id)
    }

    /// The same event at another position.
    pub(crate) fn move_to(&mut self, position: Position) {
        self.position = position;
    }

    /// The commit time by the store's clock, in whole microseconds. Times need not increase with the
    /// position.
    pub fn recorded_at(&self) -> SystemTime {
        self.recorded_at
    }

    /// The id, unique in the log.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Decodes the data from JSON.
    ///
    /// # Errors
    /// [`Error::Unreadable`], which names the event, if the data is not JSON of this shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(self.data()).map_err(|error| Error::Unreadable {
            position: self.position,
            event_type: self.event_type().into(),
            source: Arc::new(error),
        })
    }

    /// The event without its position and time, with its id: for another log, or to append again.
    pub fn into_event(self) -> Event {
        Event {
            id: Some(self.id),
            is_id_new: false,
            recorded_at: None,
            body: self.body,
        }
    }

    /// The same event, with its data and version replaced.
    pub(crate) fn with_data(&self, data: &[u8], version: u32) -> Result<Self, Error> {
        let version = version.to_string();
        let others = self.metadata().filter(|(key, _)| *key != Event::VERSION);
        let metadata: Vec<_> = others.chain([(Event::VERSION, version.as_str())]).collect();
        let tags: Vec<&str> = self.tags().collect();
        let (tags, metadata) = (tags.into_iter(), metadata.into_iter());
        Ok(Self {
            body: Body::pack(self.event_type(), tags, metadata, data)?,
            ..*self
        })
    }

    /// Whether `event` has the same type, tags, metadata and data. The trace in the metadata
    /// ([`Event::TRACEPARENT`]) may be another one.
    pub fn has_content_of(&self, event: &Event) -> bool {
        let (stored, new) = (&self.body, &event.body);
        stored == new || stored.is_same_but_for(new, Event::TRACEPARENT)
    }
}

/// Rounds down to microseconds, the precision of all backends.
pub(crate) fn whole_micros(time: SystemTime) -> SystemTime {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_micros(micros)
}

impl From<Event> for Vec<Event> {
    fn from(event: Event) -> Self {
        vec![event]
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body
            .debug(formatter.debug_struct("Event").field("id", &self.id))
    }
}

impl fmt::Debug for SequencedEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("SequencedEvent");
        self.body.debug(
            debug
                .field("position", &self.position)
                .field("id", &self.id),
        )
    }
}
