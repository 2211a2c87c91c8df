use crate::{Bookmark, GlobalPosition};

/// The start of a read of a category, or of all messages.
///
/// | from | begins | notices |
/// |---|---|---|
/// | a [`Bookmark`] | after its message | a store whose past was replaced |
/// | a [`Bookmark`] without an id | after its position | a store that ends before the position |
/// | a [`GlobalPosition`] | there, inclusive | a store that ends before the position |
/// | `None` | at the first message | |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub(crate) next: GlobalPosition,
    pub(crate) handled: Option<Bookmark>,
}

impl From<GlobalPosition> for Start {
    fn from(next: GlobalPosition) -> Self {
        let handled = (next > GlobalPosition::START).then(|| GlobalPosition::new(next.get() - 1));
        Self {
            next,
            handled: handled.map(Bookmark::from),
        }
    }
}

impl From<Bookmark> for Start {
    fn from(handled: Bookmark) -> Self {
        Self {
            next: handled.position.next(),
            handled: Some(handled),
        }
    }
}

impl<T: Into<Self>> From<Option<T>> for Start {
    fn from(start: Option<T>) -> Self {
        start.map_or_else(|| GlobalPosition::START.into(), T::into)
    }
}
