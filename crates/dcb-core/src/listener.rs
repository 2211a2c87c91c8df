use std::time::SystemTime;

/// The session through which a store hears of appends by other processes. Only PostgreSQL has one,
/// from the first subscription on, and not behind a pooler in transaction mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listener {
    /// Since when the store has no such session; `None` while it has one. Subscriptions see the appends of other processes with their next
    /// poll then, so they are late, but none is missed.
    pub lost_since: Option<SystemTime>,
    /// How many sessions took the place of a lost one, since the store was opened.
    pub replacements: u64,
}
