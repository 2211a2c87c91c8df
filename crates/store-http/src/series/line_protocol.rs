//! InfluxDB's line protocol on the paths of both API versions. Parameters such as `bucket`, `org`
//! and `db` are accepted and ignored.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use bytes::Bytes;
use tsdb::Db;
use tsdb::wire::Ingested;
use tsdb::wire::line_protocol::{self, Precision};

use super::engine::Engine;
use super::parameters::{Parameters, now_ms};
use super::{faults, gzip};
use crate::error::ApiError;

/// Bodies up to this size are parsed on the serving thread, which takes about 0.1 ms.
const SMALL_BODY: usize = 32 * 1024;
/// Maximum size of a decompressed body.
const MAX_DECODED_BYTES: usize = 32 << 20;

/// `GET /ping`: clients of InfluxDB ask whether the server answers.
pub(super) async fn ping() -> impl IntoResponse {
    let version = [("x-influxdb-version", env!("CARGO_PKG_VERSION"))];
    (StatusCode::NO_CONTENT, version)
}

/// `POST /write` and `POST /api/v2/write`
pub(super) async fn write(
    State(engine): State<Arc<Engine>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let precision = precision(&Parameters::of_query(&uri))?;
    let compressed = gzip::is_gzip(&headers)?;
    // One time for the whole body, so that all lines without a time get the same time.
    let now_ms = now_ms();
    let ingested = if !compressed && body.len() <= SMALL_BODY {
        line_protocol::write(&engine.db, &body, precision, now_ms)
    } else {
        let db = engine.db.clone();
        let is_large = gzip::is_large(&body, compressed);
        let work = move || write_body(&db, &body, compressed, precision, now_ms);
        match is_large {
            true => engine.work.large_body(work).await??,
            false => engine.work.body(work).await??,
        }
    };
    engine.note("line protocol", &ingested);
    faults::check(&ingested, "line")?;
    Ok(StatusCode::NO_CONTENT)
}

fn precision(parameters: &Parameters) -> Result<Precision, ApiError> {
    let Some(text) = parameters.get("precision") else {
        return Ok(Precision::default());
    };
    Precision::parse(text).ok_or_else(|| {
        let message = format!("precision must be one of ns, us, ms, s, m, h, got {text:?}");
        ApiError::invalid_field("precision", message)
    })
}

fn write_body(
    db: &Db,
    body: &[u8],
    compressed: bool,
    precision: Precision,
    now_ms: i64,
) -> Result<Ingested, ApiError> {
    if !compressed {
        return Ok(line_protocol::write(db, body, precision, now_ms));
    }
    let body = gzip::decompress(body, MAX_DECODED_BYTES)?;
    Ok(line_protocol::write(db, &body, precision, now_ms))
}
