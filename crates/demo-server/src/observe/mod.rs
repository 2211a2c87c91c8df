//! The server's own metrics: counted with every request, shown at `/metrics`, and written into the
//! server's own series once a second, or every 15 seconds while no counter changes. Tests: `tests/it/observe.rs`.
//!
//! | metric | labels | meaning |
//! |---|---|---|
//! | `registrar_http_request_rate` | `interface` | requests in the last second |
//! | `registrar_http_latency_p50_seconds`, `registrar_http_latency_p99_seconds` | `interface` | latency of those requests; no samples while there are no requests |
//! | `registrar_events_rate`, `registrar_messages_rate`, `registrar_points_rate` | | writes in the last second |
//!
//! These metrics are only in the series. Those that [`measure`] lists and those that the stores record
//! ([`recorded`]) are both in the series and at `/metrics`. Interfaces are `events`, `messages`, `series`, `demo` and `server`. In the
//! series, every metric has the label `job="registrar"`.

mod access;
mod histogram;
mod keep;
mod measure;
mod measured;
mod observed;
mod process;
mod projections;
mod rates;
pub(crate) mod recorded;
mod requests;
mod state;
mod summary;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;

use crate::settings::Settings;
use store_http::ApiError;

use access::Logged;

pub(crate) use keep::keep;
pub(crate) use observed::Observed;
pub(crate) use summary::summary;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<Observed>: FromRef<S>,
{
    Router::new()
        .route("/metrics", get(metrics))
        .route("/series/metrics", get(summary))
}

/// Counts a request and the time until its response begins, and writes them to the log if the
/// settings say so.
pub(crate) async fn record(
    State(observed): State<Arc<Observed>>,
    State(settings): State<Arc<Settings>>,
    request: Request,
    next: Next,
) -> Response {
    let route = observed.requests.route(&request);
    let logged = settings.access_log.then(|| Logged::of(&request));
    let started = Instant::now();
    let response = next.run(request).await;
    let took = started.elapsed();
    route.add(response.status(), took);
    if let Some(logged) = logged {
        logged.write(response.status(), took);
    }
    // Counted by status, because the guard and several handlers reject large bodies.
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        observed.bodies_refused.fetch_add(1, Ordering::Relaxed);
    }
    response
}

async fn metrics(State(observed): State<Arc<Observed>>) -> Result<Response, ApiError> {
    let versions = observed.projections.look(&observed.stores).await;
    // Reading about files and the process may wait for the disk.
    let text = tokio::task::spawn_blocking(move || measure::with_process(&observed, &versions));
    let text = text.await;
    text.map_err(|failed| ApiError::internal(&failed))
}
