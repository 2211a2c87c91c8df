use std::time::SystemTime;

/// The session through which a store hears of writes by other processes. Only PostgreSQL has one,
/// from the first subscription on, and not behind a pooler in transaction mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listener {
    /// Since when the store has no such session; `None` while it has one. Subscriptions see the writes of other processes with their next
    /// poll then, so they are late, but none is missed.
    pub lost_since: Option<SystemTime>,
    /// How many sessions took the place of a lost one, since the store was opened.
    pub replacements: u64,
}

impl Listener {
    /// Combines the listeners of two stores: the earlier loss, and the sum of the replacements.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let losses = self.lost_since.into_iter().chain(other.lost_since);
        Self {
            lost_since: losses.min(),
            replacements: self.replacements + other.replacements,
        }
    }

    pub(crate) fn of_both(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        }
    }
}
