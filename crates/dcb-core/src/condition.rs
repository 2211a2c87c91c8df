use std::fmt::Display;

use crate::{Bookmark, Error, Query};

/// A condition under which an append fails: the consistency boundary of a decision.
///
/// The append fails, with nothing written, if any event at a position greater than `after` matches
/// `fail_if_events_match`. Without `after`, any matching event makes it fail. `after` is usually
/// the head that the decision's read returned. The head of a lagging replica is fine, because
/// `after` may be any position up to the head of the log. The store refuses a position beyond the
/// head with [`Error::AfterBeyondHead`], and a [`Bookmark`] of an event that the log has lost with
/// [`Error::PastReplaced`]. A plain position is compared with the head alone.
///
/// An append can have several conditions, each with its own query and `after`, and all must hold.
/// See [`Append::conditions`](crate::Append::conditions).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "camelCase", deny_unknown_fields)
)]
pub struct AppendCondition {
    /// The events that the decision depends on.
    pub fail_if_events_match: Query,
    /// The last position that the decision has seen. Matches up to and including it are ignored.
    pub after: Option<Bookmark>,
}

impl AppendCondition {
    /// Fails if any event matches `query`, at any position.
    pub fn fail_if(query: Query) -> Self {
        Self {
            fail_if_events_match: query,
            after: None,
        }
    }

    /// Fails if any event carries the tag `key:value`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the tag is not valid.
    pub fn fail_if_exists(key: &str, value: impl Display) -> Result<Self, Error> {
        Ok(Self::fail_if(
            Query::builder().tag_pair(key, value).build()?,
        ))
    }

    /// Fails if any event of this type carries the tag `key:value`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the type or the tag is not valid.
    pub fn fail_if_event_type(
        event_type: &str,
        key: &str,
        value: impl Display,
    ) -> Result<Self, Error> {
        Ok(Self::fail_if(
            Query::builder()
                .event_type(event_type)
                .tag_pair(key, value)
                .build()?,
        ))
    }

    /// The same condition, ignoring events up to and including `after`.
    #[must_use]
    pub fn after(mut self, after: impl Into<Option<Bookmark>>) -> Self {
        self.after = after.into();
        self
    }
}

/// One condition where several can be given.
impl From<AppendCondition> for Vec<AppendCondition> {
    fn from(condition: AppendCondition) -> Self {
        vec![condition]
    }
}
