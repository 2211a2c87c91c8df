use std::time::Duration;

/// Carries requests to another server. HTTP implementations send the body by POST with
/// `Content-Encoding: snappy`, `Content-Type: application/x-protobuf` and
/// `X-Prometheus-Remote-Write-Version: 0.1.0`.
pub trait Transport: Send + 'static {
    /// Sends a request and waits for its answer. Should give up after a time of its own: nothing
    /// else is sent meanwhile.
    ///
    /// # Errors
    /// [`SendError::Retry`] for what may pass (no connection, 429, 5xx), [`SendError::Rejected`]
    /// for what won't (other 4xx).
    fn send(&mut self, body: &[u8]) -> Result<(), SendError>;
}

/// Why a request was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The same request may succeed later.
    #[error("to be sent again: {reason}")]
    Retry {
        /// What happened.
        reason: String,
        /// How long the server asks to wait (`Retry-After`), if it does.
        after: Option<Duration>,
    },
    /// The server will never take this request: its samples are given up.
    #[error("rejected: {reason}")]
    Rejected {
        /// What the server said.
        reason: String,
    },
}
