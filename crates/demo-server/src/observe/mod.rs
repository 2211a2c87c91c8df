//! The server's own metrics: counted with every request, shown at `/metrics`, and written into the
//! server's own series once a second. Tests: `tests/it/observe.rs`.
//!
//! | metric | labels | meaning |
//! |---|---|---|
//! | `registrar_http_request_rate` | `interface` | requests in the last second |
//! | `registrar_http_latency_p50_seconds`, `registrar_http_latency_p99_seconds` | `interface` | latency of those requests; no samples while there are no requests |
//! | `registrar_events_rate`, `registrar_messages_rate`, `registrar_points_rate` | | writes in the last second |
//!
//! These metrics are only in the series. The counters that [`measure`] lists are both in the series
//! and at `/metrics`. Interfaces are `events`, `messages`, `series`, `demo` and `server`. In the
//! series, every metric has the label `job="registrar"`.

mod histogram;
mod keep;
mod measure;
mod rates;
mod requests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::openapi;
use requests::Requests;

pub(crate) use keep::keep;

/// The server's counters.
#[derive(Debug)]
pub(crate) struct Observed {
    started: Instant,
    requests: Requests,
    bodies_refused: AtomicU64,
    points_written: AtomicU64,
    queries_served: AtomicU64,
}

impl Observed {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            requests: Requests::new(openapi::templates()),
            bodies_refused: AtomicU64::new(0),
            points_written: AtomicU64::new(0),
            queries_served: AtomicU64::new(0),
        }
    }

    /// Time since the server's start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Number of points that clients wrote.
    pub(crate) fn points_written(&self) -> u64 {
        self.points_written.load(Ordering::Relaxed)
    }

    /// Number of answered series queries.
    pub(crate) fn queries_served(&self) -> u64 {
        self.queries_served.load(Ordering::Relaxed)
    }

    pub(crate) fn add_points(&self, written: usize) {
        self.points_written
            .fetch_add(written as u64, Ordering::Relaxed);
    }

    pub(crate) fn add_query(&self) {
        self.queries_served.fetch_add(1, Ordering::Relaxed);
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new().route("/metrics", get(metrics))
}

/// Counts a request and the time until its response begins.
pub(crate) async fn record(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = app.observed.requests.route(&request);
    let started = Instant::now();
    let response = next.run(request).await;
    route.add(response.status(), started.elapsed());
    // Counted by status, because the guard and several handlers reject large bodies.
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        app.observed.bodies_refused.fetch_add(1, Ordering::Relaxed);
    }
    response
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    exposition(&app)
}

/// All counters in Prometheus' text format.
pub(crate) fn exposition(app: &App) -> Response {
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT)], measure::text(app)).into_response()
}
