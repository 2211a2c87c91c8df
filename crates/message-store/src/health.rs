/// What a store's connections answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// `SQLite` or `PostgreSQL`.
    pub backend: &'static str,
    /// The version of the database, for example `15.18`.
    pub version: String,
    /// The settings that decide what a commit survives, as the writer's connection sees them.
    pub durability: Vec<(&'static str, String)>,
    /// Whether a write that was acknowledged survives the loss of power.
    pub is_durable: bool,
}

impl Health {
    /// What a backend of this name and version answers. For stores.
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
        }
    }
}
