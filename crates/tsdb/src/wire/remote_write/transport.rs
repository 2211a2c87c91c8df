use std::time::Duration;

/// Carries requests to another server. HTTP implementations send the body by POST with
/// `Content-Encoding: snappy`, `Content-Type: application/x-protobuf` and
/// `X-Prometheus-Remote-Write-Version: 0.1.0`.
pub trait Transport: Send + 'static {
    /// Sends a request and waits for the response. It should have a timeout, because the forwarder
    /// sends nothing else in the meantime.
    ///
    /// # Errors
    /// [`SendError::Retry`] for a failure that is not the samples' fault (no connection, 401, 404, 429,
    /// 5xx), [`SendError::Rejected`] for a permanent one (400, 409, 413, 415, 422).
    fn send(&mut self, body: &[u8]) -> Result<(), SendError>;
}

/// The reason why a request was not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The same request may succeed later. Try again after the wait that the server asks for, or after
    /// a pause; the forwarder does so.
    #[error("temporary failure: {reason}")]
    Retry {
        /// The cause of the failure.
        reason: String,
        /// The wait that the server asks for (`Retry-After`), if any.
        after: Option<Duration>,
    },
    /// The server will never accept this request. Its samples are dropped. Correct what the reason
    /// names.
    #[error("rejected: {reason}")]
    Rejected {
        /// The server's message.
        reason: String,
        /// Whether the server may accept parts of the request: it rejects some of the samples, or the
        /// size (400, 413, 422).
        divisible: bool,
    },
}
