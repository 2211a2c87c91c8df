//! `query_exemplars`: the exemplars of the series that a query reads.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use tsdb::promql::{QueryError, exemplars_to_json, parse_selectors};

use super::answer;
use super::engine::Engine;
use super::parameters::{Parameters, invalid};
use super::promql::refused;
use crate::error::ApiError;

/// `GET` and `POST /api/v1/query_exemplars`
pub(super) async fn query_exemplars(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let query = parameters.required("query")?.to_owned();
    let from_ms = parameters.time("start")?.unwrap_or(i64::MIN);
    let to_ms = parameters.time("end")?.unwrap_or(i64::MAX);
    if from_ms > to_ms {
        return Err(invalid("end", "is before start"));
    }
    let warnings = parameters.warnings(&["query", "start", "end"]);
    let exemplars = Arc::clone(&engine.exemplars);
    let work = move || {
        let found = exemplars.select(&parse_selectors(&query)?, from_ms, to_ms);
        Ok(answer::with_warnings(exemplars_to_json(&found), &warnings))
    };
    // They are few, so the query is a short one.
    let (body, permit) = engine.work.query(move |_| Ok(work())).await?;
    let body = body.map_err(|error: QueryError| refused(&error))?;
    engine.counters.add_query();
    answer::large_json(&engine.work, body, permit).await
}
