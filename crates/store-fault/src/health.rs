use std::time::SystemTime;

/// The result of a health check of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// `PostgreSQL`, `SQLite` or `memory`.
    pub backend: &'static str,
    /// The version of the database, for example `15.18`.
    pub version: String,
    /// The settings that decide whether a commit survives a crash or power loss, as the writer's
    /// connection sees them.
    pub durability: Vec<(&'static str, String)>,
    /// Whether an acknowledged append or write survives power loss.
    pub is_durable: bool,
    /// The session that hears of other processes, if the store has one.
    pub listener: Option<Listener>,
}

impl Health {
    /// Builds a result, without a listener. Only implementations of stores need this.
    pub fn new(
        backend: &'static str,
        version: impl Into<String>,
        durability: Vec<(&'static str, String)>,
        is_durable: bool,
    ) -> Self {
        Self {
            backend,
            version: version.into(),
            durability,
            is_durable,
            listener: None,
        }
    }
}

/// The session through which a store hears of commits by other processes. Only PostgreSQL has one,
/// from the first subscription on, and not behind a pooler in transaction mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listener {
    /// Since when the store has no such session; `None` while it has one. Subscriptions then see the
    /// commits of other processes with their next poll, so they are late, but miss nothing.
    pub lost_since: Option<SystemTime>,
    /// How many sessions took the place of a lost one, since the store was opened.
    pub replacements: u64,
}

impl Listener {
    /// Builds a report. Only implementations of stores need this.
    pub fn new(lost_since: Option<SystemTime>, replacements: u64) -> Self {
        Self {
            lost_since,
            replacements,
        }
    }

    /// Combines the listeners of two stores: the earlier loss, and the sum of the replacements.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let losses = self.lost_since.into_iter().chain(other.lost_since);
        Self::new(losses.min(), self.replacements + other.replacements)
    }
}
