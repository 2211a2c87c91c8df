//! Request bodies, and the databases that they are sent to.

use bench::BoxError;
use std::fmt::Write;
use tsdb::wire::json::{self, Answer};
use tsdb::{Db, DbOptions, DuplicatePolicy};

use super::data::START_MS;

/// A database that keeps duplicates, because the published rows send the same timestamps
/// repeatedly.
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
    for index in 0..points as i64 {
        let comma = if index == 0 { "" } else { "," };
        let (at, value) = (first_ms + index, 45.5 + (index % 100) as f64 / 10.0);
        // Writing to a `String` cannot fail.
        let _ = write!(
            body,
            r#"{comma}{{"metric":"cpu_usage","timestamp":{at},"value":{value}}}"#
        );
    }
    body.push(']');
    body
}

/// A database with `points` points, and a request for all of them.
pub(crate) fn loaded(points: usize) -> Result<(Db, String), BoxError> {
    let db = keep_all();
    accepted(&json::write(&db, batch(points, START_MS).as_bytes()))?;
    let end = START_MS + points as i64;
    let query = format!(r#"{{"metric":"cpu_usage","start":{START_MS},"end":{end}}}"#);
    Ok((db, query))
}

/// Ends the run if the answer is not 200.
pub(crate) fn accepted(answer: &Answer) -> Result<(), BoxError> {
    match answer.status {
        200 => Ok(()),
        status => Err(format!("answered {status}: {}", answer.body).into()),
    }
}
