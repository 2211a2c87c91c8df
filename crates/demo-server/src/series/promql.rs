//! PromQL: `query` at one time and `query_range` over many.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use tsdb::Db;
use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange, Value, to_json};

use super::answer;
use super::engine::Engine;
use super::parameters::{Parameters, invalid, now_ms};
use crate::error::ApiError;

/// Maximum number of samples that a query may read and produce: about 160 MB.
const MAX_SAMPLES: u64 = 10_000_000;
/// Maximum number of steps in a range: Prometheus' limit of points per series.
const MAX_STEPS: usize = 11_000;
/// Maximum and default time limit of an evaluation.
const TIMEOUT: Duration = Duration::from_secs(30);

/// `GET` and `POST /api/v1/query`
pub(super) async fn query(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let time_ms = parameters.time("time")?.unwrap_or_else(now_ms);
    evaluate(&engine, &parameters, move |query, db, options| {
        query.instant(db, time_ms, options)
    })
    .await
}

/// `GET` and `POST /api/v1/query_range`
pub(super) async fn range(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let missing = |name: &'static str| move || invalid(name, "is missing");
    let range = TimeRange {
        start_ms: parameters.time("start")?.ok_or_else(missing("start"))?,
        end_ms: parameters.time("end")?.ok_or_else(missing("end"))?,
        step_ms: parameters.duration("step")?.ok_or_else(missing("step"))?,
    };
    evaluate(&engine, &parameters, move |query, db, options| {
        query.range(db, range, options)
    })
    .await
}

async fn evaluate(
    engine: &Engine,
    parameters: &Parameters,
    run: impl FnOnce(&Query, &Db, &QueryOptions) -> Result<Value, QueryError> + Send + 'static,
) -> Result<Response, ApiError> {
    let text = parameters.required("query")?.to_owned();
    let options = options(parameters)?;
    let limit = parameters.limit("limit")?;
    let db = engine.db.clone();
    // Parsing runs with the query: a long expression takes time too.
    let work = move || {
        let value = Query::parse(&text).and_then(|query| run(&query, &db, &options));
        Ok(success(value?, limit))
    };
    let (answer, permit) = engine.work.query(work).await?;
    let answer = answer.map_err(|error: QueryError| refused(&error))?;
    engine.observed.add_query();
    answer::large_json(&engine.work, answer, permit).await
}

fn options(parameters: &Parameters) -> Result<QueryOptions, ApiError> {
    let timeout = match parameters.duration("timeout")? {
        None => TIMEOUT,
        Some(ms @ 1..) => Duration::from_millis(ms.unsigned_abs()).min(TIMEOUT),
        Some(_) => return Err(invalid("timeout", "must be positive")),
    };
    Ok(QueryOptions {
        max_samples: MAX_SAMPLES,
        max_steps: MAX_STEPS,
        timeout,
        ..QueryOptions::default()
    })
}

/// The response body for a value, with at most `limit` series.
fn success(mut value: Value, limit: Option<usize>) -> String {
    let limit = limit.unwrap_or(usize::MAX);
    let cut = match &mut value {
        Value::Vector(series) => truncate(series, limit),
        Value::Matrix(series) => truncate(series, limit),
        // Scalars and strings have no series to cut.
        _ => false,
    };
    let mut body = to_json(&Ok(value));
    if cut {
        // Replaces the closing brace of the body.
        body.pop();
        body.push_str(r#","warnings":["results truncated due to limit"]}"#);
    }
    body
}

fn truncate<T>(series: &mut Vec<T>, limit: usize) -> bool {
    let cut = series.len() > limit;
    series.truncate(limit);
    cut
}

/// The response for a failed query.
pub(super) fn refused(error: &QueryError) -> ApiError {
    let code = match error.error_type() {
        "bad_data" => "INVALID_QUERY",
        "timeout" => ApiError::QUERY_TIMEOUT,
        _ => "QUERY_FAILED",
    };
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNPROCESSABLE_ENTITY);
    ApiError::new(status, code, error.to_string())
}
