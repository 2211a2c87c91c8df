/// The result of a health check, as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// The server's version, for example `15.18`.
    pub server_version: String,
    /// The settings that decide whether a commit survives a crash, as the writer's session sees
    /// them: `fsync`, `synchronous_commit`, `full_page_writes`.
    pub durability: Vec<(&'static str, String)>,
}

impl Health {
    /// The names of the settings in [`Health::durability`].
    pub(super) const DURABILITY: [&'static str; 3] =
        ["fsync", "synchronous_commit", "full_page_writes"];

    /// Whether an acknowledged commit survives a crash of the server's machine.
    pub fn is_durable(&self) -> bool {
        self.durability.iter().all(|(_, value)| value != "off")
    }
}
