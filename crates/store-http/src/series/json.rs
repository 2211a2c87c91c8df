//! The JSON interface: writes points and reads a metric's points.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use tsdb::wire::json::{self, Pieces, Query};
use tsdb::{Aggregate, Db, Selection};

use super::engine::Engine;
use super::turn::{Stopped, Turn};
use super::{answer, faults, gzip};
use crate::error::ApiError;

/// Bodies up to this size are parsed on the serving thread, which takes about 0.1 ms.
const SMALL_BODY: usize = 64 * 1024;
/// Maximum number of points in an answer that is made on the serving thread. It takes about the
/// same time.
const SMALL_ANSWER: u64 = 4_000;
/// Maximum number of series in such an answer.
const SMALL_SELECTION: usize = 64;
/// Maximum number of series in the database for such an answer, because the search takes time too.
const FEW_SERIES: usize = 10_000;
/// Maximum number of points in an answer: about 350 MB.
const MAX_POINTS: u64 = 5_000_000;

/// `POST /series/write`
pub(super) async fn write(
    State(engine): State<Arc<Engine>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let ingested = if body.len() <= SMALL_BODY {
        json::ingest(&engine.db, &body)
    } else {
        let db = engine.db.clone();
        let is_large = gzip::is_large(&body, false);
        let work = move || json::ingest(&db, &body);
        match is_large {
            true => engine.work.large_body(work).await?,
            false => engine.work.body(work).await?,
        }
    };
    let ingested = ingested.map_err(ApiError::invalid)?;
    engine.note("JSON", &ingested);
    // The answer lists the points beyond the limit on new series.
    let failed = faults::failure(&ingested).filter(|failed| failed.status.is_server_error());
    if let Some(failed) = failed {
        return Err(failed);
    }
    let answer = json::report(&ingested);
    Ok(answer::json(answer.status, answer.body.into_owned()))
}

/// `POST /series/query`
pub(super) async fn query(
    State(engine): State<Arc<Engine>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let db = &engine.db;
    // For small queries, a blocking thread would cost more than the work itself.
    if body.len() <= SMALL_BODY && db.series_count() <= FEW_SERIES {
        let query = read(&body)?;
        let selection = query.select(db);
        if selection.len() <= SMALL_SELECTION && count(&selection) <= SMALL_ANSWER {
            engine.counters.add_query();
            let mut pieces = query.pieces(&selection);
            let mut answer = Vec::new();
            while pieces.write_next(&mut answer) {}
            return Ok(answer::json(200, answer));
        }
    }
    let db = db.clone();
    let work = move |turn: &Arc<Turn>| begin(&body, &db, turn);
    let (begun, permit) = engine.work.query(work).await?;
    let (first, rest) = begun?;
    engine.counters.add_query();
    match rest {
        None => Ok(answer::json(200, first)),
        Some(rest) => answer::written_json(&engine.work, first, rest, permit).await,
    }
}

fn read(body: &[u8]) -> Result<Query, ApiError> {
    Query::read(body).map_err(ApiError::invalid)
}

/// The first piece of an answer, and the generator of the others if there are any.
type Begun = (Vec<u8>, Option<Pieces>);

/// Makes the first piece of a large answer, and the generator of the others if there are any.
fn begin(body: &[u8], db: &Db, turn: &Turn) -> Result<Result<Begun, ApiError>, Stopped> {
    let query = match read(body) {
        Ok(query) => query,
        Err(invalid) => return Ok(Err(invalid)),
    };
    let selection = query.select(db);
    turn.has_read(selection.len())?;
    let points = count(&selection);
    if points > MAX_POINTS {
        return Ok(Err(ApiError::invalid(format!(
            "{points} points match; the maximum is {MAX_POINTS}"
        ))));
    }
    let mut pieces = query.pieces(&selection);
    let mut first = Vec::with_capacity(Pieces::BYTES);
    let more = pieces.write_next(&mut first);
    Ok(Ok((first, more.then_some(pieces))))
}

/// Counts the points of a selection. Only blocks that lie partly outside its range are decoded.
fn count(selection: &Selection) -> u64 {
    let counts = selection
        .iter()
        .map(|series| series.aggregate(Aggregate::Count));
    counts.flatten().sum::<f64>() as u64
}
