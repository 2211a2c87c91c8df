use std::time::Duration;

/// The error of a store, as far as this crate makes it or decides by it.
pub trait StoreError: Clone + Send + 'static {
    /// The store is closed, or its runtime shuts down.
    fn closed() -> Self;

    /// A setting is malformed.
    fn invalid(field: &'static str, reason: String) -> Self;

    /// A call took longer than its limit.
    fn timeout(operation: &'static str, limit: Duration) -> Self;

    /// A statement failed and had no effect, or its effect does not matter.
    fn from_driver(failed: &sqlx::Error) -> Self;

    /// The server could not be reached.
    fn is_unavailable(&self) -> bool;

    /// The server refused or gave up the statement.
    fn is_refusal(&self) -> bool;

    /// The server lacks what the reader has seen: it is behind, or has another history.
    fn is_out_of_place(&self) -> bool;
}
