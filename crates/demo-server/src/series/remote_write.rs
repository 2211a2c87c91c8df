//! Prometheus' remote write, version 1.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use tsdb::wire::remote_write::{self, Malformed};

use super::engine::Engine;
use super::faults;
use crate::error::ApiError;

/// Bodies up to this size are parsed on the serving thread. Decompressed, they are at most 22 times
/// as large.
const SMALL_BODY: usize = 2 * 1024;

/// `POST /api/v1/write`
pub(super) async fn write(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    check(&headers)?;
    // A small body can still decompress to many samples, hence the low limit.
    let ingested = if body.len() <= SMALL_BODY {
        remote_write::write(&engine.db, &body)
    } else {
        let db = engine.db.clone();
        let work = move || remote_write::write(&db, &body);
        engine.work.body(work).await?
    };
    let ingested = ingested.map_err(|malformed| refused(&malformed))?;
    engine.observed.add_points(ingested.written);
    faults::check(&ingested, "sample")?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rejects headers of another protocol. Missing headers are accepted, as Prometheus does.
fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| {
        let value = headers.get(name).map(|value| value.as_bytes());
        String::from_utf8_lossy(value.unwrap_or_default()).to_ascii_lowercase()
    };
    let unsupported = |message: &str| {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        ApiError::new(status, "UNSUPPORTED_MEDIA_TYPE", message)
    };
    if text(header::CONTENT_TYPE).contains("proto=io.prometheus.write.v2") {
        return Err(unsupported(
            "this server supports only version 1 of remote write",
        ));
    }
    if !matches!(text(header::CONTENT_ENCODING).as_str(), "" | "snappy") {
        return Err(unsupported("Content-Encoding must be snappy"));
    }
    Ok(())
}

fn refused(malformed: &Malformed) -> ApiError {
    match malformed {
        Malformed::TooLarge { .. } => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            malformed.to_string(),
        ),
        _ => ApiError::invalid(malformed.to_string()),
    }
}
