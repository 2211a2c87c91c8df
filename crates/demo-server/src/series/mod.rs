//! Series over HTTP: the JSON interface under `/series`, and the paths of InfluxDB and Prometheus.
//!
//! | path | module |
//! |---|---|
//! | `/series/write`, `/series/query`, `/series/metrics` | [`json`] |
//! | `/write`, `/api/v2/write` | [`line_protocol`] |
//! | `/api/v1/write` | [`remote_write`] |
//! | `/api/v1/query`, `/api/v1/query_range` | [`promql`] |
//! | `/api/v1/series`, `/api/v1/labels`, `/api/v1/label/{name}/values` | [`list`] |
//! | `/api/v1/metadata`, `/api/v1/status/buildinfo` | [`about`] |
//!
//! Work that takes much CPU time or memory runs on blocking threads, with limits on how much runs
//! at once: [`work::Work`].

mod about;
mod answer;
mod engine;
mod faults;
mod json;
mod line_protocol;
mod list;
mod parameters;
mod promql;
mod remote_write;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};

use crate::health::{self, Health};
use crate::stores::Stores;

pub(crate) use engine::Engine;
pub(crate) use json::metrics;

pub(crate) fn routes<S>(stores: &Arc<Stores>) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<Engine>: FromRef<S>,
    Arc<Health>: FromRef<S>,
{
    let opened = middleware::from_fn_with_state(Arc::clone(stores), opened);
    Router::new()
        .route("/series/write", post(json::write))
        .route("/series/query", post(json::query))
        .route("/write", post(line_protocol::write))
        .route("/api/v2/write", post(line_protocol::write))
        .route("/api/v1/write", post(remote_write::write))
        .nest("/api/v1", prometheus())
        .route_layer(opened)
        .route("/series/health", any(health::healthy))
        .route("/series/metrics", get(metrics))
}

/// Answers 503 with the cause if the files of the series could not be opened.
async fn opened(State(stores): State<Arc<Stores>>, request: Request, next: Next) -> Response {
    match &stores.series_failed {
        None => next.run(request).await,
        Some(failed) => faults::not_opened(failed).into_response(),
    }
}

/// The paths that Prometheus clients read.
fn prometheus<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<Engine>: FromRef<S>,
{
    Router::new()
        .route("/query", get(promql::query).post(promql::query))
        .route("/query_range", get(promql::range).post(promql::range))
        .route("/series", get(list::series).post(list::series))
        .route("/labels", get(list::labels).post(list::labels))
        .route("/label/{name}/values", get(list::values))
        .route("/metadata", get(about::metadata))
        .route("/status/buildinfo", get(about::buildinfo))
}
