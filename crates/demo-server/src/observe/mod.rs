//! What the server measures of itself: counted by every request, shown at `/metrics`, and once a
//! second written into the server's own series.
//!
//! | metric | labels | what |
//! |---|---|---|
//! | `registrar_http_request_rate` | `interface` | requests of the last second |
//! | `registrar_http_latency_p50_seconds`, `registrar_http_latency_p99_seconds` | `interface` | how long those took; ends while there are none |
//! | `registrar_events_rate`, `registrar_messages_rate`, `registrar_points_rate` | | what was written in the last second |
//!
//! These are in the series only; `/metrics` has, and the series too, what is counted from the start:
//! [`measure`] lists it. Interfaces are `events`, `messages`, `series`, `demo` and `server`. In the
//! series all have the label `job="registrar"`.

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

/// The counters.
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

    /// How long ago the server started.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Points of series that clients wrote.
    pub(crate) fn points_written(&self) -> u64 {
        self.points_written.load(Ordering::Relaxed)
    }

    /// Queries of series that were answered.
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

/// Counts a request and how long it took until its answer began.
pub(crate) async fn record(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let route = app.observed.requests.route(&request);
    let started = Instant::now();
    let response = next.run(request).await;
    route.add(response.status(), started.elapsed());
    if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        app.observed.bodies_refused.fetch_add(1, Ordering::Relaxed);
    }
    response
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    exposition(&app)
}

/// All that is counted, as Prometheus reads it.
pub(crate) fn exposition(app: &App) -> Response {
    const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, TEXT)], measure::text(app)).into_response()
}
