/// A list that usually has one entry, stored without an allocation.
#[derive(Debug)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::One(entry) => std::slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }

    pub(super) fn into_vec(self) -> Vec<T> {
        match self {
            Self::One(entry) => vec![entry],
            Self::Many(entries) => entries,
        }
    }
}

impl<T> FromIterator<T> for OneOrMany<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut entries = entries.into_iter();
        match (entries.next(), entries.next()) {
            (Some(only), None) => Self::One(only),
            (first, second) => Self::Many(first.into_iter().chain(second).chain(entries).collect()),
        }
    }
}

impl<T> OneOrMany<T> {
    /// Appends an entry. A new list keeps its first entry without an allocation.
    pub(super) fn push(&mut self, entry: T) {
        match self {
            Self::Many(entries) if entries.is_empty() && entries.capacity() == 0 => {
                *self = Self::One(entry);
            }
            Self::Many(entries) => entries.push(entry),
            Self::One(_) => {
                // A second entry means a batch, which usually has more.
                let first = std::mem::replace(self, Self::Many(Vec::with_capacity(16)));
                if let (Self::One(first), Self::Many(entries)) = (first, self) {
                    entries.extend([first, entry]);
                }
            }
        }
    }
}
