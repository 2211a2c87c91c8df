//! PromQL: `query` at one time and `query_range` over many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value as Json, json};
use tsdb::Db;
use tsdb::promql::{
    Proceed, Query, QueryError, QueryOptions, QueryStats, TimeRange, Value, to_json,
};

use super::answer::{self, TRUNCATED};
use super::engine::Engine;
use super::parameters::{Parameters, invalid, now_ms};
use super::turn::{Stopped, Turn};
use crate::error::ApiError;

/// Maximum number of samples that a query may read and produce: about 160 MB.
pub(super) const MAX_SAMPLES: u64 = 10_000_000;
/// Maximum and default time limit of an evaluation.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// The parameters that both paths know.
const COMMON: [&str; 5] = ["query", "timeout", "limit", "lookback_delta", "stats"];

/// `GET` and `POST /api/v1/query`
pub(super) async fn query(
    State(engine): State<Arc<Engine>>,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let time_ms = parameters.time("time")?.unwrap_or_else(now_ms);
    let question = Question::read(&parameters, &["time"])?;
    evaluate(&engine, question, move |query, db, options| {
        query.instant_with_stats(db, time_ms, options)
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
    let question = Question::read(&parameters, &["start", "end", "step"])?;
    evaluate(&engine, question, move |query, db, options| {
        query.range_with_stats(db, range, options)
    })
    .await
}

/// The parameters that both paths share.
struct Question {
    query: String,
    options: QueryOptions,
    /// Maximum number of series in the answer.
    limit: Option<usize>,
    wants_stats: bool,
    warnings: Vec<String>,
}

impl Question {
    /// `times` are the names of the parameters that only one path knows.
    fn read(parameters: &Parameters, times: &[&str]) -> Result<Self, ApiError> {
        Ok(Self {
            query: parameters.required("query")?.to_owned(),
            options: options(parameters)?,
            limit: parameters.limit("limit")?,
            // Prometheus takes any value for "yes" too.
            wants_stats: parameters.get("stats").is_some(),
            warnings: parameters.warnings(&[&COMMON, times].concat()),
        })
    }
}

async fn evaluate(
    engine: &Engine,
    question: Question,
    run: impl Fn(&Query, &Db, &QueryOptions) -> Result<(Value, QueryStats), QueryError>
    + Send
    + Sync
    + 'static,
) -> Result<Response, ApiError> {
    let db = engine.db.clone();
    let asked = Instant::now();
    // Parsing runs with the query: a long expression takes time too.
    let answer = move |turn: &Arc<Turn>| {
        let begun = Instant::now();
        let query = Query::parse(&question.query)?;
        let asked_turn = Arc::clone(turn);
        let options = QueryOptions {
            proceed: Proceed::new(move || asked_turn.goes_on()),
            ..question.options.clone()
        };
        let (value, stats) = run(&query, &db, &options)?;
        if turn.is_abandoned() {
            return Err(QueryError::Stopped);
        }
        let stats = question
            .wants_stats
            .then(|| statistics(stats, asked, begun));
        let warnings = question.warnings.clone();
        Ok(success(value, question.limit, stats, warnings))
    };
    let work = move |turn: &Arc<Turn>| match answer(turn) {
        Err(QueryError::Stopped) => Err(Stopped),
        answer => Ok(answer),
    };
    let (answer, permit) = engine.work.query(work).await?;
    let answer = answer.map_err(|error: QueryError| refused(&error))?;
    engine.counters.add_query();
    answer::large_json(&engine.work, answer, permit).await
}

fn options(parameters: &Parameters) -> Result<QueryOptions, ApiError> {
    let standard = QueryOptions::default();
    Ok(QueryOptions {
        max_samples: MAX_SAMPLES,
        timeout: positive(parameters, "timeout")?.map_or(TIMEOUT, |timeout| timeout.min(TIMEOUT)),
        lookback: positive(parameters, "lookback_delta")?.unwrap_or(standard.lookback),
        ..standard
    })
}

fn positive(parameters: &Parameters, name: &str) -> Result<Option<Duration>, ApiError> {
    match parameters.duration(name)? {
        None => Ok(None),
        Some(ms @ 1..) => Ok(Some(Duration::from_millis(ms.unsigned_abs()))),
        Some(_) => Err(invalid(name, "must be positive")),
    }
}

/// Times and counts of a query under Prometheus' names, as far as this engine knows them. `asked`
/// is the time of the request, and `begun` the time when its evaluation began.
fn statistics(stats: QueryStats, asked: Instant, begun: Instant) -> Json {
    json!({
        "timings": {
            "evalTotalTime": begun.elapsed().as_secs_f64(),
            "execQueueTime": (begun - asked).as_secs_f64(),
            "execTotalTime": asked.elapsed().as_secs_f64(),
        },
        "samples": {
            "totalQueryableSamples": stats.samples_read,
            "peakSamples": stats.samples_held,
        },
    })
}

/// The response body for a value, with at most `limit` series.
fn success(
    mut value: Value,
    limit: Option<usize>,
    stats: Option<Json>,
    mut warnings: Vec<String>,
) -> String {
    let limit = limit.unwrap_or(usize::MAX);
    let cut = match &mut value {
        Value::Vector(series) => truncate(series, limit),
        Value::Matrix(series) => truncate(series, limit),
        // Scalars and strings have no series to cut.
        _ => false,
    };
    if cut {
        warnings.push(TRUNCATED.to_owned());
    }
    let mut body = to_json(&Ok(value));
    if let Some(stats) = stats {
        // Replaces the closing braces of `data` and of the body.
        body.truncate(body.len() - 2);
        body.push_str(&format!(r#","stats":{stats}}}}}"#));
    }
    answer::with_warnings(body, &warnings)
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
    ApiError {
        retry_after_s: error.is_transient().then_some(1),
        ..ApiError::new(status, code, error.to_string())
    }
}
