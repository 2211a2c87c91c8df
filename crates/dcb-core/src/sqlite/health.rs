/// What a store's connections answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The version of SQLite, for example `3.51.0`.
    pub sqlite_version: String,
    /// The settings that decide what a commit survives, as the writer's connection tells them:
    /// `journal_mode`, `synchronous`.
    pub durability: Vec<(&'static str, String)>,
}

impl Health {
    /// Whether a commit that was acknowledged survives the death of the machine.
    pub fn is_durable(&self) -> bool {
        self.durability
            .iter()
            .all(|(_, value)| matches!(value.as_str(), "wal" | "full"))
    }
}
