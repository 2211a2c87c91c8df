use crate::Position;

/// A log's events compared with the keys that find them. From `check_keys` of the module
/// `postgres` or `sqlite`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCheck {
    /// The number of events in the log when the check began.
    pub total_events: u64,
    /// The number of events that were looked up among the keys so far.
    pub events: u64,
    /// The number of stored keys that were looked up among the events so far. This follows when all
    /// events are done.
    pub keys: u64,
    /// The number of keys that events lack. Reads by these tags miss the events, and conditions do not
    /// protect them.
    pub missing: u64,
    /// The first event that lacks a key.
    pub first_missing: Option<Position>,
    /// The number of stored keys that belong to no event. They can refuse later events.
    pub stray: u64,
}

impl KeyCheck {
    /// Whether no key is missing, and none belongs to no event, as far as the check has come.
    pub fn is_clean(&self) -> bool {
        self.missing == 0 && self.stray == 0
    }

    pub(crate) fn of(total_events: i64) -> Self {
        Self {
            total_events: total_events.unsigned_abs(),
            ..Self::default()
        }
    }

    /// Adds the result for the events up to a position.
    pub(crate) fn add_events(&mut self, through: i64, missing: u64, first: Option<i64>) {
        self.events = through.unsigned_abs();
        self.missing += missing;
        let first = first.and_then(|first| Position::new(first.unsigned_abs()));
        self.first_missing = self.first_missing.or(first);
    }

    /// Adds the result for some of the stored keys.
    pub(crate) fn add_keys(&mut self, keys: u64, stray: u64) {
        self.keys += keys;
        self.stray += stray;
    }
}
