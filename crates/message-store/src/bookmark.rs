//! The place of a reader in the history of a store, and the check that the history still has it.

use std::fmt;
use std::str::FromStr;

use store_fault::{parse_place, write_place};
use uuid::Uuid;

use crate::text::invalid;
use crate::{Error, GlobalPosition, Problem};

/// The last message that a reader has handled: its global position, and its id.
///
/// A position alone does not tell one history from another. A store that is restored from a backup,
/// or fails over to a replica that was behind, gives the same positions to other messages. A read that
/// goes on after a bookmark notices that and fails with [`Error::PastReplaced`], or with
/// [`Error::AfterBeyondHead`] while the store is still shorter. So keep the bookmarks of messages:
/// [`RecordedMessage::bookmark`](crate::RecordedMessage::bookmark).
///
/// A bookmark without an id, made from a [`GlobalPosition`], accepts any message at the position. Use
/// it for positions from elsewhere, or to go on after [`Error::PastReplaced`] on purpose.
///
/// The text is `<position>@<id>`, or the position without an id. With the feature `serde`, a bookmark is
/// that string, or a number without an id.
///
/// ```
/// # fn main() -> Result<(), message_store::Error> {
/// use message_store::{Bookmark, GlobalPosition};
///
/// let bookmark: Bookmark = "7@0198c2a4-5b1e-7c3d-8f00-1a2b3c4d5e6f".parse()?;
/// assert_eq!(bookmark.position, GlobalPosition::new(7));
/// assert_eq!(bookmark.to_string(), "7@0198c2a4-5b1e-7c3d-8f00-1a2b3c4d5e6f");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "form::Form", into = "form::Form")
)]
pub struct Bookmark {
    /// The global position of the message.
    pub position: GlobalPosition,
    /// The id of the message. `None` accepts any message.
    pub message_id: Option<Uuid>,
}

impl Bookmark {
    /// The place of the message with this id.
    pub const fn new(position: GlobalPosition, message_id: Uuid) -> Self {
        Self {
            position,
            message_id: Some(message_id),
        }
    }

    /// The bookmark at `position` whose text was saved beside it. A process of an earlier version moves
    /// the position and leaves the text, which is then of another position.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn saved(position: GlobalPosition, text: Option<&str>) -> Self {
        let saved = text.and_then(|text| text.parse::<Self>().ok());
        let saved = saved.filter(|saved| saved.position == position);
        saved.unwrap_or(position.into())
    }

    /// The text to save beside the position. `None` without an id.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn text(self) -> Option<String> {
        self.message_id.map(|_| self.to_string())
    }

    /// Checks the history of a store. `found` is the id of the message at this position. All messages
    /// after the head are missing; a message up to `last_deleted` may have been deleted on purpose. Only
    /// implementations of stores need this.
    ///
    /// # Errors
    /// [`Error::PastReplaced`] if the store has another message there, or has lost it;
    /// [`Error::AfterBeyondHead`] if the position is greater than both the head and `last_deleted`.
    pub fn check(
        self,
        found: Option<Uuid>,
        head: Option<GlobalPosition>,
        last_deleted: Option<GlobalPosition>,
    ) -> Result<(), Error> {
        let position = self.position;
        match (self.message_id, found) {
            (Some(handled), Some(found)) if handled == found => Ok(()),
            (Some(_), Some(_)) => Err(Error::PastReplaced { position }),
            _ if position > head.max(last_deleted).unwrap_or(GlobalPosition::new(0)) => {
                let after = position;
                Err(Error::AfterBeyondHead { after, head })
            }
            (Some(_), None) if Some(position) > last_deleted => {
                Err(Error::PastReplaced { position })
            }
            _ => Ok(()),
        }
    }
}

impl From<GlobalPosition> for Bookmark {
    fn from(position: GlobalPosition) -> Self {
        Self {
            position,
            message_id: None,
        }
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_place(formatter, self.position, self.message_id)
    }
}

impl FromStr for Bookmark {
    type Err = Error;

    /// # Errors
    /// [`Error::Invalid`] with field `bookmark` unless the text is a whole number, or one followed by
    /// `@` and a UUID.
    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = "expected a whole number, or one with @ and a UUID";
        let place = parse_place(text).ok_or_else(|| Problem::malformed(expected));
        let (position, message_id) = place.map_err(invalid("bookmark"))?;
        Ok(Self {
            position,
            message_id,
        })
    }
}

#[cfg(feature = "serde")]
mod form {
    use super::Bookmark;
    use crate::{Error, GlobalPosition};

    /// A bookmark as serde has it.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(untagged)]
    pub(super) enum Form {
        Position(GlobalPosition),
        Text(String),
    }

    impl From<Bookmark> for Form {
        fn from(bookmark: Bookmark) -> Self {
            match bookmark.message_id {
                Some(_) => Self::Text(bookmark.to_string()),
                None => Self::Position(bookmark.position),
            }
        }
    }

    impl TryFrom<Form> for Bookmark {
        type Error = Error;

        fn try_from(form: Form) -> Result<Self, Error> {
            match form {
                Form::Position(position) => Ok(position.into()),
                Form::Text(text) => text.parse(),
            }
        }
    }
}
