use store_fault::Fault;

/// The error of a store, as far as this crate makes it or decides by it.
pub trait StoreError: Clone + Send + From<Fault> + 'static {
    /// A setting is malformed.
    fn invalid(field: &'static str, reason: String) -> Self;

    /// The fault of the server or of the schema, if that is the error.
    fn fault(&self) -> Option<&Fault>;

    /// The server lacks what the reader has seen: it is behind, or has another history.
    fn is_out_of_place(&self) -> bool;
}
