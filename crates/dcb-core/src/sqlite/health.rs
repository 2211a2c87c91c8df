/// The result of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The version of SQLite, for example `3.51.0`.
    pub sqlite_version: String,
    /// The settings that determine durability, as reported by the writer's connection:
    /// `journal_mode` and `synchronous`.
    pub durability: Vec<(&'static str, String)>,
}

impl Health {
    /// Whether an acknowledged commit survives a power failure.
    pub fn is_durable(&self) -> bool {
        self.durability
            .iter()
            .all(|(_, value)| matches!(value.as_str(), "wal" | "full"))
    }
}
