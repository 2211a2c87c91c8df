//! Loads series in Prometheus' test notation, and shows answers as lines of text.

use tsdb::promql::{Query, QueryError, QueryOptions, TimeRange, Value};
use tsdb::{Db, DbOptions, Labels, STALE_MARKER, Sample};

/// A database with these series. A series is written `name{label="value"} values`, with one value
/// every `step` seconds from 0. A value is a number, `_` for no value, or `stale`. `a+bxn` stands
/// for n + 1 values: `a`, then n more, each greater by `b` than the one before.
pub(crate) fn load(step: i64, series: &[&str]) -> Db {
    let db = Db::new(DbOptions::default());
    for series in series {
        let (labels, values) = match series.split_once('}') {
            Some((labels, values)) => (labels, values),
            None => series.split_once(' ').expect("a series and values"),
        };
        let labels = parse_labels(labels);
        let values = values.split_whitespace().flat_map(expand);
        for (index, value) in values.enumerate() {
            if let Some(value) = value {
                let sample = Sample::new(index as i64 * step * 1000, value);
                db.append(&labels, sample).expect("the sample is accepted");
            }
        }
    }
    db
}

fn parse_labels(text: &str) -> Labels {
    let (name, labels) = text.split_once('{').unwrap_or((text, ""));
    let pairs = labels.split(',').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').expect("name=value"));
    Labels::new(
        name,
        pairs.map(|(name, value)| (name.trim(), value.trim_matches('"'))),
    )
    .expect("labels")
}

fn expand(text: &str) -> Vec<Option<f64>> {
    if let Some((start, rest)) = text.split_once('x') {
        let sign = 1 + start[1..].find(['+', '-']).expect("a+bxn");
        let (first, step): (f64, f64) = (
            start[..sign].parse().expect("a number"),
            start[sign..].parse().expect("a number"),
        );
        let count: usize = rest.parse().expect("a count");
        return (0..=count)
            .map(|index| Some(first + step * index as f64))
            .collect();
    }
    vec![match text {
        "_" => None,
        "stale" => Some(STALE_MARKER),
        number => Some(number.parse().expect("a number")),
    }]
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
