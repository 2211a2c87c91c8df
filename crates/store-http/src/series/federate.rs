//! `/federate`: the last sample of each selected series as Prometheus text, for another Prometheus
//! to scrape.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use tsdb::promql::QueryOptions;
use tsdb::wire::exposition::{self, Escaping};

use super::engine::Engine;
use super::list;
use super::parameters::{Parameters, now_ms};
use super::turn::Turn;
use crate::error::ApiError;

/// `GET /federate`
pub(super) async fn federate(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    // The text has no place for warnings.
    parameters.refuse_unknown(&["match[]"])?;
    let selectors = list::selectors(&parameters)?;
    let lookback_ms = QueryOptions::default().lookback.as_millis();
    let lookback_ms = i64::try_from(lookback_ms).unwrap_or(i64::MAX);
    let accept = headers.get(header::ACCEPT).map(HeaderValue::to_str);
    let escaping = Escaping::accepted(accept.and_then(Result::ok).unwrap_or_default());
    let db = engine.db.clone();
    let work = move |turn: &Arc<Turn>| {
        let lasts =
            exposition::federate(&db, &selectors, now_ms(), lookback_ms, || turn.has_read(1))?;
        Ok(lasts.write(escaping))
    };
    let (text, _permit) = engine.work.query(work).await?;
    engine.counters.add_query();
    let kind = format!("{}; escaping={}", exposition::CONTENT_TYPE, escaping.name());
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
