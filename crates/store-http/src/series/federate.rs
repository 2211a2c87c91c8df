//! `/federate`: the last sample of each selected series as Prometheus text, for another Prometheus
//! to scrape.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use tsdb::promql::QueryOptions;
use tsdb::wire::exposition;

use super::engine::Engine;
use super::list;
use super::parameters::{Parameters, now_ms};
use super::turn::Turn;
use crate::error::ApiError;

/// `GET /federate`
pub(super) async fn federate(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    // The text has no place for warnings.
    parameters.refuse_unknown(&["match[]"])?;
    let selectors = list::selectors(&parameters)?;
    let lookback_ms = QueryOptions::default().lookback.as_millis();
    let lookback_ms = i64::try_from(lookback_ms).unwrap_or(i64::MAX);
    let db = engine.db.clone();
    let work = move |turn: &Arc<Turn>| {
        let lasts =
            exposition::federate(&db, &selectors, now_ms(), lookback_ms, || turn.has_read(1))?;
        Ok(lasts.write())
    };
    let (text, _permit) = engine.work.query(work).await?;
    engine.counters.add_query();
    Ok(([(header::CONTENT_TYPE, exposition::CONTENT_TYPE)], text).into_response())
}
