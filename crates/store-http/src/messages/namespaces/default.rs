use message_store::NamespaceName;

/// The namespace that always exists.
pub const DEFAULT: &str = "default";

/// [`DEFAULT`] as a name.
pub fn default_name() -> NamespaceName {
    NamespaceName::new(DEFAULT).expect("the name is valid")
}
