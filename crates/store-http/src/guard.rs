//! Limits on body sizes, concurrent requests and subscriptions.
//!
//! The guard reads a body completely, within a memory budget for all bodies, before the request
//! takes one of the request slots. A client that sends slowly therefore holds no slot, and only the
//! part of the budget that it has sent. Imports are streamed and have their own slots. Tests:
//! `tests/it/server.rs`, `tests/it/slow_senders.rs` and `tests/it/messages/import.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::ApiError;
use crate::limits::Limits;

/// Paths that read their body as it arrives and take their own slot.
const STREAMED: [&str; 1] = ["/import"];
/// Paths that take samples. Their usual senders drop what a 4xx answers.
const SAMPLES: [&str; 5] = [
    "/write",
    "/api/v2/write",
    "/api/v1/write",
    "/api/v1/otlp/v1/metrics",
    "/series/write",
];
/// The paths of the health checks. They skip the queue, as `/metrics` does, so that monitoring works on an
/// overloaded server.
pub const HEALTH_PATHS: [&str; 8] = [
    "/health",
    "/livez",
    "/readyz",
    "/dcb/health",
    "/series/health",
    "/-/healthy",
    "/-/ready",
    "/ping",
];
/// Maximum number of body bytes in memory, without the free bytes of each body.
const BODY_BUDGET: usize = 48 << 20;
/// The first bytes of each body take nothing from the budget. So a small body always fits, and the
/// limit on connections bounds the memory of all of them to 80 MB.
const FREE_BYTES: usize = 8 * 1024;
/// How long a body may wait for room in the budget.
const ROOM_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of concurrent imports.
const IMPORTS: usize = 4;
/// How long a request may wait in the queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);
/// One permit of the body budget, in bytes. The number of permits is a `u32`, which can't count the
/// single bytes of a huge body.
const PERMIT_BYTES: usize = 4096;

/// The slots that requests, imports and subscriptions take.
#[derive(Debug)]
pub(crate) struct Guard {
    max_body_bytes: usize,
    bodies: Arc<Semaphore>,
    requests: Semaphore,
    max_requests: usize,
    waiting: AtomicUsize,
    max_waiting: usize,
    body_limit: Duration,
    subscriptions: Arc<Semaphore>,
    max_subscriptions: usize,
    imports: Arc<Semaphore>,
    /// Whether subscriptions must end.
    ending: watch::Sender<bool>,
}

/// A slot for a subscription or an import, which last longer than a request. Released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

impl Guard {
    pub(crate) fn of(limits: &Limits) -> Self {
        // The largest allowed body must fit into the budget, or it could never be read.
        let budget = BODY_BUDGET.max(limits.max_body_bytes);
        // `Semaphore::new` panics above its maximum.
        let max_requests = limits.max_requests.min(Semaphore::MAX_PERMITS);
        let max_subscriptions = limits.max_subscriptions.min(Semaphore::MAX_PERMITS);
        Self {
            max_body_bytes: limits.max_body_bytes,
            bodies: Arc::new(Semaphore::new(budget.div_ceil(PERMIT_BYTES))),
            requests: Semaphore::new(max_requests),
            max_requests,
            waiting: AtomicUsize::new(0),
            max_waiting: limits.max_waiting,
            body_limit: limits.body_timeout,
            subscriptions: Arc::new(Semaphore::new(max_subscriptions)),
            imports: Arc::new(Semaphore::new(IMPORTS)),
            max_subscriptions,
            ending: watch::Sender::new(false),
        }
    }

    /// The number of requests in progress.
    pub(crate) fn running(&self) -> usize {
        self.max_requests - self.requests.available_permits()
    }

    /// The number of requests in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// The number of open subscriptions.
    pub(crate) fn subscriptions(&self) -> usize {
        self.max_subscriptions - self.subscriptions.available_permits()
    }

    /// Takes a slot for a subscription.
    ///
    /// # Errors
    /// 503 if all slots are in use.
    pub(crate) fn subscribe(&self) -> Result<Slot, ApiError> {
        try_slot(&self.subscriptions, "too many subscriptions are open")
    }

    /// Takes a slot for an import.
    ///
    /// # Errors
    /// 503 if all slots are in use.
    pub(crate) fn import(&self) -> Result<Slot, ApiError> {
        try_slot(&self.imports, "too many imports are running")
    }

    /// Becomes `true` when the server stops and subscriptions must end.
    pub(crate) fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    pub(crate) fn end_subscriptions(&self) {
        self.ending.send_replace(true);
    }

    /// Maximum size of a body in bytes; of a streamed one, of each line.
    pub(crate) fn max_body_bytes(&self) -> usize {
        self.max_body_bytes
    }

    /// How long a body, or the next part of a streamed one, may take to arrive.
    pub(crate) fn body_limit(&self) -> Duration {
        self.body_limit
    }

    /// Admits a request: reads its body, waits for a slot, then runs the handler.
    pub(crate) async fn admit(&self, request: Request, next: Next) -> Result<Response, ApiError> {
        // The handler of a streamed path reads the body and takes a slot itself.
        let path = request.uri().path();
        if STREAMED.contains(&path) {
            return Ok(next.run(request).await);
        }
        let queued = path != "/metrics" && !HEALTH_PATHS.contains(&path);
        let timed_out = match SAMPLES.contains(&path) {
            true => ApiError::overloaded("the body took too long to arrive"),
            false => ApiError::body_timeout(),
        };
        // The body comes before the slot, so that slow senders hold no slots.
        let (parts, body) = request.into_parts();
        let (body, _share) = match body.is_end_stream() {
            true => (body, None),
            false => {
                let body = tokio::time::timeout(self.body_limit, self.body(body));
                body.await.map_err(|_| timed_out)??
            }
        };
        let _slot = match queued {
            true => Some(self.request_slot().await?),
            false => None,
        };
        Ok(next.run(Request::from_parts(parts, body)).await)
    }

    /// Reads the whole body into memory. The permit is its share of the budget, if it needs one.
    async fn body(&self, body: Body) -> Result<(Body, Option<OwnedSemaphorePermit>), ApiError> {
        let declared = body.size_hint().lower();
        if declared > self.max_body_bytes as u64 {
            return Err(self.too_large());
        }
        let (bytes, share) = self.read(body).await?;
        Ok((Body::from(bytes), share))
    }

    /// The memory of a body grows with the bytes that have arrived, up to twice their number. The
    /// length that it declares reserves nothing, because its sender may stall.
    async fn read(
        &self,
        mut body: Body,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ApiError> {
        let mut bytes = Vec::new();
        let mut share = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ApiError::invalid("the body ended early"))?;
            let Ok(part) = frame.into_data() else {
                continue;
            };
            let arrived = bytes.len() + part.len();
            if arrived > self.max_body_bytes {
                return Err(self.too_large());
            }
            if arrived > bytes.capacity() {
                let grown = arrived.max(2 * bytes.capacity()).min(self.max_body_bytes);
                self.cover(&mut share, grown).await?;
                bytes.reserve_exact(grown - bytes.len());
            }
            bytes.extend_from_slice(&part);
        }
        Ok((Bytes::from(bytes), share))
    }

    /// Extends a body's share of the budget to this many bytes.
    async fn cover(
        &self,
        share: &mut Option<OwnedSemaphorePermit>,
        bytes: usize,
    ) -> Result<(), ApiError> {
        let needed = bytes.saturating_sub(FREE_BYTES).div_ceil(PERMIT_BYTES);
        let held = share.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = u32::try_from(needed.saturating_sub(held)).unwrap_or(u32::MAX);
        if missing == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.bodies).acquire_many_owned(missing);
        // Not longer: waiting senders hold their connections and what they have sent.
        let Ok(Ok(more)) = tokio::time::timeout(ROOM_TIMEOUT, more).await else {
            return Err(ApiError::overloaded("too many bodies are being read"));
        };
        match share {
            Some(share) => share.merge(more),
            None => *share = Some(more),
        }
        Ok(())
    }

    fn too_large(&self) -> ApiError {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            format!(
                "the body exceeds the limit of {} bytes",
                self.max_body_bytes
            ),
        )
    }

    async fn request_slot(&self) -> Result<tokio::sync::SemaphorePermit<'_>, ApiError> {
        if let Ok(permit) = self.requests.try_acquire() {
            return Ok(permit);
        }
        let _waiting = Waiting::enter(&self.waiting, self.max_waiting)
            .ok_or_else(|| ApiError::overloaded("too many requests are waiting"))?;
        match tokio::time::timeout(QUEUE_TIMEOUT, self.requests.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(ApiError::overloaded("the request waited too long")),
        }
    }
}

fn try_slot(slots: &Arc<Semaphore>, all_used: &str) -> Result<Slot, ApiError> {
    let permit = Arc::clone(slots).try_acquire_owned();
    permit
        .map(|permit| Slot { _permit: permit })
        .map_err(|_| ApiError::overloaded(all_used))
}

/// One entry in the count of waiting requests. A drop removes the entry, so a request that is
/// dropped while it waits no longer counts.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        // Counts first and compares after: two requests can't both take the last entry. Dropping
        // the entry undoes the count.
        let entry = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < max).then_some(entry)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
