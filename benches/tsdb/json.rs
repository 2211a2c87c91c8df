//! Bodies of requests, and databases that they are sent to.

use bench::BoxError;
use std::fmt::Write;
use tsdb::wire::json::{self, Answer};
use tsdb::{Db, DbOptions, DuplicatePolicy};

use super::data::START_MS;

/// A database that keeps duplicates: the published rows send the same timestamps again and again.
pub(crate) fn keep_all() -> Db {
    Db::new(DbOptions {
        duplicates: DuplicatePolicy::KeepAll,
        ..DbOptions::default()
    })
}

/// One point, with a tag.
pub(crate) fn single(timestamp_ms: i64) -> String {
    format!(
        r#"{{"metric":"cpu_usage","timestamp":{timestamp_ms},"value":45.5,"tags":{{"host":"server1"}}}}"#
    )
}

/// Points without tags, one millisecond apart.
pub(crate) fn batch(points: usize, first_ms: i64) -> String {
    let mut body = String::from("[");
    for place in 0..points as i64 {
        let comma = if place == 0 { "" } else { "," };
        let (at, value) = (first_ms + place, 45.5 + (place % 100) as f64 / 10.0);
        // Writing to a String doesn't fail.
        let _ = write!(
            body,
            r#"{comma}{{"metric":"cpu_usage","timestamp":{at},"value":{value}}}"#
        );
    }
    body.push(']');
    body
}

/// A request for all points of a database that holds so many.
pub(crate) fn loaded(points: usize) -> Result<(Db, String), BoxError> {
    let db = keep_all();
    accepted(&json::write(&db, batch(points, START_MS).as_bytes()))?;
    let end = START_MS + points as i64;
    let query = format!(r#"{{"metric":"cpu_usage","start":{START_MS},"end":{end}}}"#);
    Ok((db, query))
}

/// That the answer is 200.
pub(crate) fn accepted(answer: &Answer) -> Result<(), BoxError> {
    match answer.status {
        200 => Ok(()),
        status => Err(format!("answered {status}: {}", answer.body).into()),
    }
}
