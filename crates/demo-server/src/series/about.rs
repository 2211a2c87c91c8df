//! Metric metadata, and build information in Prometheus' form.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use tsdb::{Metadata, MetricKind};

use super::engine::Engine;
use super::parameters::Parameters;
use crate::error::ApiError;

/// The Prometheus release that this interface follows. It tells clients which requests they can
/// send.
const PROMETHEUS: &str = "3.0.0";

/// `GET /api/v1/metadata`
pub(super) async fn metadata(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Json<Value>, ApiError> {
    let limit = parameters.limit("limit")?.unwrap_or(usize::MAX);
    let db = &engine.db;
    let known = match parameters.get("metric") {
        Some(metric) => {
            let known = db.metadata(metric);
            known
                .map(|known| (metric.to_owned(), known))
                .into_iter()
                .collect()
        }
        None => db.all_metadata(),
    };
    let known: BTreeMap<String, [Value; 1]> = known
        .into_iter()
        .take(limit)
        .map(|(metric, known)| (metric, [entry(&known)]))
        .collect();
    Ok(Json(json!({ "status": "success", "data": known })))
}

fn entry(known: &Metadata) -> Value {
    let kind = match known.kind {
        MetricKind::Counter => "counter",
        MetricKind::Gauge => "gauge",
        MetricKind::Histogram => "histogram",
        MetricKind::Summary => "summary",
        MetricKind::Unknown => "unknown",
    };
    json!({ "type": kind, "help": known.help, "unit": "" })
}

/// `GET /api/v1/status/buildinfo`
pub(super) async fn buildinfo() -> Json<Value> {
    Json(json!({
        "status": "success",
        "data": {
            "version": PROMETHEUS,
            "revision": format!("registrar-{}", env!("CARGO_PKG_VERSION")),
            // Grafana expects all members, also without values.
            "branch": "",
            "buildUser": "",
            "buildDate": "",
            "goVersion": ""
        }
    }))
}
