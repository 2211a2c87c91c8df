use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use tsdb::wire::json::{self, Counters};

use super::measure::exposition;
use super::observed::Observed;

/// `GET /series/metrics`: JSON, or Prometheus' text format if the client asks for it.
pub(crate) async fn summary(State(observed): State<Arc<Observed>>, request: Request) -> Response {
    let accept = request.headers().get(header::ACCEPT);
    if accept.is_some_and(|accept| wants_text(accept.as_bytes())) {
        return exposition(&observed);
    }
    let counters = observed.engine.counters();
    let answer = json::counters(&Counters {
        points_written: counters.points_written(),
        queries_served: counters.queries_served(),
        uptime_seconds: observed.uptime().as_secs_f64(),
    });
    let body = answer.body.into_owned();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// Whether a client accepts Prometheus' text format and does not accept JSON.
fn wants_text(accept: &[u8]) -> bool {
    let accept = String::from_utf8_lossy(accept);
    let names = |kind: &str| accept.contains(kind);
    (names("text/plain") || names("application/openmetrics-text")) && !names("application/json")
}
