//! Rules, alerts and targets. This server scrapes nothing and evaluates no rules, so all lists are
//! empty. Grafana and promtool ask for them and take an error for a broken server. Filters have
//! nothing to filter, so they count as understood.

use axum::response::Response;
use serde_json::json;

use super::answer;
use super::parameters::Parameters;
use crate::error::ApiError;

/// The filters of `rules`.
const RULE_FILTERS: [&str; 8] = [
    "type",
    "rule_name[]",
    "rule_group[]",
    "file[]",
    "match[]",
    "exclude_alerts",
    "group_limit",
    "group_next_token",
];

/// `GET /api/v1/rules`
pub(super) async fn rules(parameters: Parameters) -> Result<Response, ApiError> {
    answer::short(
        &json!({ "groups": [] }),
        &parameters.warnings(&RULE_FILTERS),
    )
}

/// `GET /api/v1/alerts`
pub(super) async fn alerts(parameters: Parameters) -> Result<Response, ApiError> {
    answer::short(&json!({ "alerts": [] }), &parameters.warnings(&[]))
}

/// `GET /api/v1/alertmanagers`
pub(super) async fn alertmanagers(parameters: Parameters) -> Result<Response, ApiError> {
    let none = json!({ "activeAlertmanagers": [], "droppedAlertmanagers": [] });
    answer::short(&none, &parameters.warnings(&[]))
}

/// `GET /api/v1/targets`
pub(super) async fn targets(parameters: Parameters) -> Result<Response, ApiError> {
    let none = json!({ "activeTargets": [], "droppedTargets": [], "droppedTargetCounts": {} });
    answer::short(&none, &parameters.warnings(&["state", "scrapePool"]))
}

/// `GET /api/v1/targets/metadata`
pub(super) async fn target_metadata(parameters: Parameters) -> Result<Response, ApiError> {
    answer::short(
        &json!([]),
        &parameters.warnings(&["match_target", "metric", "limit"]),
    )
}
