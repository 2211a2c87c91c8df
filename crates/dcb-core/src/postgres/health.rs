/// What a store's connections answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The server's version, for example `15.18`.
    pub server_version: String,
    /// The settings that decide what a commit survives, as the writer's session sees them: `fsync`,
    /// `synchronous_commit`, `full_page_writes`.
    pub durability: Vec<(&'static str, String)>,
}

impl Health {
    /// The settings in [`Health::durability`].
    pub(super) const DURABILITY: [&'static str; 3] =
        ["fsync", "synchronous_commit", "full_page_writes"];

    /// Whether a commit that was acknowledged survives the death of the server's machine.
    pub fn is_durable(&self) -> bool {
        self.durability.iter().all(|(_, value)| value != "off")
    }
}
