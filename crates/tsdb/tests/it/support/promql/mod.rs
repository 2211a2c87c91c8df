//! Loads series in Prometheus' test notation, and shows answers as lines of text.

pub(crate) mod notation;

use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange, Value};
use tsdb::{Db, DbOptions, Sample};

/// A database with these series, each with a value every `step` seconds from 0.
pub(crate) fn load(step: i64, series: &[&str]) -> Db {
    let db = Db::new(DbOptions::default());
    notation::append(&db, step * 1000, series);
    db
}

/// The answer at a time in seconds, a line for each series: `name{label="value"} 1.5`.
pub(crate) fn query_at(db: &Db, seconds: i64, query: &str) -> Vec<String> {
    lines(try_at(db, seconds, query).unwrap_or_else(|error| panic!("{query}: {error}")))
}

/// The answer at a time in seconds.
pub(crate) fn try_at(db: &Db, seconds: i64, query: &str) -> Result<Value, QueryError> {
    Query::parse(query)?.instant(db, seconds * 1000, &QueryOptions::default())
}

/// The answer over a range in seconds: `name{label="value"} 0:1 60:1.5`.
pub(crate) fn over(db: &Db, start: i64, end: i64, step: i64, query: &str) -> Vec<String> {
    let range = TimeRange {
        start_ms: start * 1000,
        end_ms: end * 1000,
        step_ms: step * 1000,
    };
    let answer = Query::parse(query)
        .and_then(|parsed| parsed.range(db, range, &QueryOptions::default()))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    lines(answer)
}

/// The error at a time in seconds.
pub(crate) fn error_at(db: &Db, seconds: i64, query: &str) -> String {
    match try_at(db, seconds, query) {
        Err(error) => format!("{}: {error}", error.error_type()),
        Ok(value) => panic!("{query} answers {value:?}"),
    }
}

/// The only value of an answer.
pub(crate) fn number(db: &Db, seconds: i64, query: &str) -> f64 {
    match try_at(db, seconds, query) {
        Ok(Value::Scalar(sample)) => sample.value,
        Ok(Value::Vector(series)) if series.len() == 1 => series[0].sample.value,
        other => panic!("{query} answers {other:?}"),
    }
}

/// Asserts the only value of an answer, up to rounding.
pub(crate) fn assert_near(db: &Db, seconds: i64, query: &str, expected: f64) {
    let actual = number(db, seconds, query);
    let near = (actual - expected).abs() <= expected.abs() * 1e-12;
    assert!(
        near || actual == expected,
        "{query} is {actual}, not {expected}"
    );
}

fn lines(value: Value) -> Vec<String> {
    match value {
        Value::Scalar(sample) => vec![sample.value.to_string()],
        Value::String { text, .. } => vec![text],
        Value::Vector(vector) => vector
            .iter()
            .map(|series| format!("{} {}", series.labels, series.sample.value))
            .collect(),
        Value::Matrix(matrix) => matrix
            .iter()
            .map(|series| {
                let sample = |sample: &Sample| {
                    format!(" {}:{}", sample.timestamp_ms as f64 / 1000.0, sample.value)
                };
                let samples: String = series.samples.iter().map(sample).collect();
                format!("{}{samples}", series.labels)
            })
            .collect(),
        _ => panic!("a new kind of value"),
    }
}
