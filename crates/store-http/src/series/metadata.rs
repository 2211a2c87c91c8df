//! The metadata of metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};
use tsdb::{Metadata, MetricKind};

use super::answer;
use super::engine::Engine;
use super::parameters::Parameters;
use crate::error::ApiError;

/// `GET /api/v1/metadata`
pub(super) async fn metadata(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    // A metric has one entry, so a limit per metric is always kept.
    let warnings = parameters.warnings(&["metric", "limit", "limit_per_metric"]);
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
    answer::short(&known, &warnings)
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
