use std::fmt;
use std::str::FromStr;

use store_fault::{parse_place, write_place};
use uuid::Uuid;

use crate::text::invalid;
use crate::{Error, Position, Problem};

/// A place in the log that a reader keeps: a position, and the id of the event there.
///
/// A position alone can't tell whether it is still the same place. A log that was restored from a
/// backup, or that failed over to a replica that was behind, gives the positions of the lost events
/// to new ones. With the id, the store notices that: a call with a bookmark of a lost event fails
/// with [`Error::PastReplaced`], or with [`Error::AfterBeyondHead`] while the log is still shorter.
/// So keep the bookmarks that the store returns: [`EventStore::head`](crate::EventStore::head),
/// [`Events::head`](crate::Events::head),
/// [`EventBatch::through`](crate::EventBatch::through),
/// [`SequencedEvent::bookmark`](crate::SequencedEvent::bookmark).
///
/// A bookmark without an id, made from a [`Position`], accepts any event at the position. Use it for
/// positions from elsewhere, or to go on after [`Error::PastReplaced`] on purpose.
///
/// The text form is `17@018f3c5e-…`, or `17` without an id. With serde, a bookmark is that string, or
/// a number without an id.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Bookmark, Event, EventStore, MemoryStore, Query, ReadOptions, SubscribeOptions};
///
/// let store = MemoryStore::new();
/// store.append(Event::builder("CourseOffered").build()?).await?;
/// let read = store.query(&Query::all(), ReadOptions::new()).await?;
///
/// // Write it to a file. After a restart, go on there.
/// let kept = read.head.map_or(String::new(), |head| head.to_string());
/// let after: Bookmark = kept.parse()?;
/// let events = store.subscribe(Query::all(), after, SubscribeOptions::new());
/// # let _ = events;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bookmark {
    /// The position.
    pub position: Position,
    /// The id of the event there. `None` accepts any event.
    pub event_id: Option<Uuid>,
}

impl Bookmark {
    /// The place of the event with this id.
    pub const fn new(position: Position, event_id: Uuid) -> Self {
        Self {
            position,
            event_id: Some(event_id),
        }
    }

    /// The position of an optional bookmark.
    pub fn position_of(bookmark: Option<Self>) -> Option<Position> {
        bookmark.map(|bookmark| bookmark.position)
    }

    /// The checkpoint at `position` whose text form was stored beside it. A program of an older
    /// version moves the position and leaves the text, which is then of another position.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn stored(position: Position, text: Option<&str>) -> Self {
        let bookmark = text.and_then(|text| text.parse::<Self>().ok());
        let bookmark = bookmark.filter(|bookmark| bookmark.position == position);
        bookmark.unwrap_or(position.into())
    }

    /// Refuses the bookmark if it is not in the log with this head. `found` is the id of the event at
    /// its position.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn check(self, head: Option<Position>, found: Option<Uuid>) -> Result<(), Error> {
        let position = self.position;
        if head < Some(position) {
            let after = position;
            return Err(Error::AfterBeyondHead { after, head });
        }
        match self.accepts(found) {
            true => Ok(()),
            false => Err(Error::PastReplaced { position }),
        }
    }

    /// Whether the event with the id `found`, at the position, may be the one of the bookmark.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn accepts(self, found: Option<Uuid>) -> bool {
        self.event_id.is_none() || self.event_id == found
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, self.position, self.event_id)
    }
}

impl FromStr for Bookmark {
    type Err = Error;

    /// # Errors
    /// [`Error::Invalid`] with field `bookmark` unless the text is a whole number from 1, or one
    /// followed by `@` and a UUID.
    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = "expected a whole number from 1, or one with @ and a UUID";
        let place = parse_place(text).ok_or_else(|| Problem::malformed(expected));
        let (position, event_id) = place.map_err(invalid("bookmark"))?;
        Ok(Self { position, event_id })
    }
}

impl From<Position> for Bookmark {
    fn from(position: Position) -> Self {
        Self {
            position,
            event_id: None,
        }
    }
}

/// A position where an optional bookmark can be given.
impl From<Position> for Option<Bookmark> {
    fn from(position: Position) -> Self {
        Some(position.into())
    }
}

#[cfg(feature = "serde")]
mod form {
    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::Bookmark;
    use crate::Position;

    impl Serialize for Bookmark {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.event_id {
                Some(_) => serializer.collect_str(self),
                None => self.position.serialize(serializer),
            }
        }
    }

    impl<'de> Deserialize<'de> for Bookmark {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(Form)
        }
    }

    struct Form;

    impl Visitor<'_> for Form {
        type Value = Bookmark;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a whole number from 1, or a string of one with @ and a UUID")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Bookmark, E> {
            let position = Position::try_from(number).map_err(E::custom)?;
            Ok(position.into())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Bookmark, E> {
            text.parse().map_err(E::custom)
        }
    }
}
