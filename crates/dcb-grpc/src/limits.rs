/// How much a server does at once. A call beyond a limit gets `RESOURCE_EXHAUSTED`, with a message that
/// names the limit.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of appends in progress. 16,384: clients that send many at once don't wait for each
    /// answer.
    pub max_appends: usize,
    /// Maximum number of open reads. 256.
    pub max_reads: usize,
    /// Maximum number of open subscriptions. 1,000.
    pub max_subscriptions: usize,
    /// Maximum memory in bytes for requests that are being received or handled, without the first
    /// 8 KiB of each. 48 MiB.
    pub request_bytes: usize,
    /// Maximum memory in bytes for pieces of pages that clients have not taken yet. A client that finds
    /// none left gets smaller pieces, of at most 16 KiB or one event. 64 MiB.
    pub unread_bytes: usize,
    /// How long a call may take until its response begins. 60 s.
    pub call_timeout: std::time::Duration,
}

impl Limits {
    /// Maximum size of a request in bytes, gRPC's usual limit.
    pub const MAX_REQUEST_BYTES: usize = 4 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_appends: 16_384,
            max_reads: 256,
            max_subscriptions: 1000,
            request_bytes: 48 << 20,
            unread_bytes: 64 << 20,
            call_timeout: std::time::Duration::from_secs(60),
        }
    }
}
