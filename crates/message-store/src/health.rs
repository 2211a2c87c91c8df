use crate::Listener;

/// The result of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// `SQLite` or `PostgreSQL`.
    pub backend: &'static str,
    /// The version of the database, for example `15.18`.
    pub version: String,
    /// The settings that decide whether a commit survives a crash or power loss, as the writer's
    /// connection sees them.
    pub durability: Vec<(&'static str, String)>,
    /// Whether an acknowledged write survives power loss.
    pub is_durable: bool,
    /// The session that hears of other processes, if the store has one.
    pub listener: Option<Listener>,
}

impl Health {
    /// Builds a result, without a listener. For use by store implementations.
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
