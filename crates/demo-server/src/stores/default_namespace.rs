use message_store::NamespaceName;

/// The namespace that always exists.
pub(crate) const DEFAULT: &str = "default";

/// [`DEFAULT`] as a name.
pub(crate) fn default_name() -> NamespaceName {
    NamespaceName::new(DEFAULT).expect("the name is valid")
}
