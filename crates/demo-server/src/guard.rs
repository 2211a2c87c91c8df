//! What keeps the server upright: bounds on bodies, on requests at once, and on subscriptions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::App;
use crate::auth;
use crate::error::ApiError;
use crate::settings::Settings;

/// Paths whose bodies are read as they come, by their handler, which takes a place of its own.
const STREAMED: [&str; 1] = ["/import"];
/// Paths that answer however much there is to do, so that it can be watched.
const UNQUEUED: [&str; 4] = ["/health", "/dcb/health", "/series/health", "/metrics"];
/// The most bytes of bodies that are in memory at once.
const BODY_BUDGET: usize = 256 << 20;
/// Imports at once.
const IMPORTS: usize = 4;
/// How long a request may wait for its turn.
const TURN_LIMIT: Duration = Duration::from_secs(10);
/// The unit of the budget.
const PAGE: usize = 4096;

/// The places that requests and subscriptions take.
#[derive(Debug)]
pub(crate) struct Guard {
    max_body_bytes: usize,
    bodies: Arc<Semaphore>,
    turns: Semaphore,
    max_requests: usize,
    waiting: AtomicUsize,
    max_waiting: usize,
    body_limit: Duration,
    subscriptions: Arc<Semaphore>,
    max_subscriptions: usize,
    imports: Arc<Semaphore>,
}

/// How many places are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    pub(crate) subscriptions: usize,
}

/// A place among those that last longer than a request, given back on drop.
#[derive(Debug)]
pub(crate) struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Guard {
    pub(crate) fn of(settings: &Settings) -> Self {
        let budget = BODY_BUDGET.max(settings.max_body_bytes);
        let max_requests = settings.max_requests.min(Semaphore::MAX_PERMITS);
        let max_subscriptions = settings.max_subscriptions.min(Semaphore::MAX_PERMITS);
        Self {
            max_body_bytes: settings.max_body_bytes,
            bodies: Arc::new(Semaphore::new(budget.div_ceil(PAGE))),
            turns: Semaphore::new(max_requests),
            max_requests,
            waiting: AtomicUsize::new(0),
            max_waiting: settings.max_waiting,
            body_limit: Duration::from_secs(settings.body_timeout_s),
            subscriptions: Arc::new(Semaphore::new(max_subscriptions)),
            imports: Arc::new(Semaphore::new(IMPORTS)),
            max_subscriptions,
        }
    }

    /// How many places are taken now.
    pub(crate) fn load(&self) -> Load {
        Load {
            running: self.max_requests - self.turns.available_permits(),
            waiting: self.waiting.load(Ordering::Relaxed),
            subscriptions: self.max_subscriptions - self.subscriptions.available_permits(),
        }
    }

    /// A place for a subscription.
    ///
    /// # Errors
    /// 503 where all are taken.
    pub(crate) fn subscribe(&self) -> Result<Place, ApiError> {
        place(&self.subscriptions, "all subscriptions are taken")
    }

    /// A place for an import.
    ///
    /// # Errors
    /// 503 where all are taken.
    pub(crate) fn import(&self) -> Result<Place, ApiError> {
        place(&self.imports, "too many imports are under way")
    }

    /// How long a body, or the next part of one that is streamed, may take to arrive.
    pub(crate) fn body_limit(&self) -> Duration {
        self.body_limit
    }

    /// The whole body in memory, with its place in the budget.
    async fn body(&self, body: Body) -> Result<(Body, OwnedSemaphorePermit), ApiError> {
        let hint = body.size_hint();
        let most = match hint.upper() {
            Some(bytes) if bytes > self.max_body_bytes as u64 => return Err(self.too_large()),
            Some(bytes) => bytes as usize,
            None => self.max_body_bytes,
        };
        let pages = u32::try_from(most.div_ceil(PAGE)).unwrap_or(u32::MAX);
        let place = Arc::clone(&self.bodies)
            .try_acquire_many_owned(pages)
            .map_err(|_| ApiError::overloaded("too many bodies are being read"))?;
        let body = Limited::new(body, self.max_body_bytes).collect();
        let body = tokio::time::timeout(self.body_limit, body)
            .await
            .map_err(|_| ApiError::body_timeout())?
            .map_err(|failed| {
                if failed.is::<LengthLimitError>() {
                    self.too_large()
                } else {
                    ApiError::invalid("the body ended early")
                }
            })?;
        Ok((Body::from(body.to_bytes()), place))
    }

    fn too_large(&self) -> ApiError {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            format!("a body may have {} bytes", self.max_body_bytes),
        )
    }

    async fn turn(&self) -> Result<tokio::sync::SemaphorePermit<'_>, ApiError> {
        if let Ok(permit) = self.turns.try_acquire() {
            return Ok(permit);
        }
        let _place = Waiting::take(&self.waiting, self.max_waiting)
            .ok_or_else(|| ApiError::overloaded("too many requests wait"))?;
        match tokio::time::timeout(TURN_LIMIT, self.turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(ApiError::overloaded("the request waited too long")),
        }
    }
}

fn place(places: &Arc<Semaphore>, taken: &str) -> Result<Place, ApiError> {
    let permit = Arc::clone(places).try_acquire_owned();
    permit
        .map(|permit| Place { _permit: permit })
        .map_err(|_| ApiError::overloaded(taken))
}

/// A place in the line, given back on drop.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Option<Self> {
        let place = Self(waiting);
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        (before < max).then_some(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads the body, unless a token is missing, waits for a turn, and lets the request through.
pub(crate) async fn admit(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let guard = &app.guard;
    auth::screen(&app, &request)?;
    let path = request.uri().path();
    if STREAMED.contains(&path) {
        return Ok(next.run(request).await);
    }
    let queued = !UNQUEUED.contains(&path);
    // The body first: who sends slowly keeps nobody from a turn.
    let (parts, body) = request.into_parts();
    let (body, _place) = if body.is_end_stream() {
        (body, None)
    } else {
        let (body, place) = guard.body(body).await?;
        (body, Some(place))
    };
    let _turn = match queued {
        true => Some(guard.turn().await?),
        false => None,
    };
    Ok(next.run(Request::from_parts(parts, body)).await)
}
