//! Series over HTTP: the JSON interface under `/series`, and the paths of InfluxDB and Prometheus.
//!
//! | path | module |
//! |---|---|
//! | `/series/write`, `/series/query` | `json` |
//! | `/write`, `/api/v2/write`, `/ping` | `line_protocol` |
//! | `/api/v1/write` | `remote_write` |
//! | `/api/v1/otlp/v1/metrics` | `otlp` |
//! | `/api/v1/query`, `/api/v1/query_range` | `promql` |
//! | `/api/v1/query_exemplars` | `exemplars` |
//! | `/api/v1/series`, `/api/v1/labels`, `/api/v1/label/{name}/values` | `list` |
//! | `/api/v1/metadata` | `metadata` |
//! | `/api/v1/format_query`, `/api/v1/parse_query` | `syntax` |
//! | `/api/v1/status/…` | `status` |
//! | `/api/v1/rules`, `/api/v1/alerts`, `/api/v1/targets` and their like | `monitoring` |
//! | `/api/v1/admin/tsdb/…` | `admin` |
//! | `/federate` | `federate` |
//!
//! One rule for parameters in Prometheus' form: a parameter that its path does not know is named in
//! the `warnings` of the answer. Paths whose answers have no warnings refuse it.
//!
//! Work that takes much CPU time or memory runs on blocking threads, with limits on how much runs
//! at once: `work::Work`.

mod admin;
mod answer;
mod counters;
mod engine;
mod exemplars;
mod faults;
mod federate;
mod gzip;
mod json;
mod line_protocol;
mod list;
mod metadata;
mod monitoring;
mod otlp;
mod parameters;
mod promql;
mod remote_write;
mod status;
mod syntax;
mod turn;
mod work;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

pub use counters::Counters;
pub use engine::{Engine, Options};

/// The paths of the series in this engine.
pub fn router(engine: &Arc<Engine>) -> Router {
    Router::new()
        .route("/series/write", post(json::write))
        .route("/series/query", post(json::query))
        .route("/write", post(line_protocol::write))
        .route("/api/v2/write", post(line_protocol::write))
        .route("/api/v1/write", post(remote_write::write))
        .route("/api/v1/otlp/v1/metrics", post(otlp::write))
        .route("/federate", get(federate::federate))
        .nest("/api/v1", prometheus())
        .nest("/api/v1/admin/tsdb", admin_routes())
        .route("/ping", get(line_protocol::ping))
        .with_state(Arc::clone(engine))
}

/// The paths that Prometheus clients read.
fn prometheus() -> Router<Arc<Engine>> {
    Router::new()
        .route("/query", get(promql::query).post(promql::query))
        .route("/query_range", get(promql::range).post(promql::range))
        .route(
            "/query_exemplars",
            get(exemplars::query_exemplars).post(exemplars::query_exemplars),
        )
        .route("/series", get(list::series).post(list::series))
        .route("/labels", get(list::labels).post(list::labels))
        .route("/label/{name}/values", get(list::values))
        .route("/metadata", get(metadata::metadata))
        .route(
            "/format_query",
            get(syntax::format_query).post(syntax::format_query),
        )
        .route(
            "/parse_query",
            get(syntax::parse_query).post(syntax::parse_query),
        )
        .route("/status/buildinfo", get(status::buildinfo))
        .route("/status/runtimeinfo", get(status::runtimeinfo))
        .route("/status/flags", get(status::flags))
        .route("/status/config", get(status::config))
        .route("/status/tsdb", get(status::tsdb))
        .route("/rules", get(monitoring::rules))
        .route("/alerts", get(monitoring::alerts))
        .route("/alertmanagers", get(monitoring::alertmanagers))
        .route("/targets", get(monitoring::targets))
        .route("/targets/metadata", get(monitoring::target_metadata))
}

/// The paths that delete samples.
fn admin_routes() -> Router<Arc<Engine>> {
    let delete = post(admin::delete_series).put(admin::delete_series);
    let clean = post(admin::clean_tombstones).put(admin::clean_tombstones);
    Router::new()
        .route("/delete_series", delete)
        .route("/clean_tombstones", clean)
}
