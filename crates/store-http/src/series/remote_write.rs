//! Prometheus' remote write, versions 1 and 2.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tsdb::wire::remote_write::{self, Malformed, Received, Version};

use super::engine::Engine;
use super::faults;
use crate::error::ApiError;

/// Bodies up to this size are parsed on the serving thread. Decompressed, they are at most 22 times
/// as large.
const SMALL_BODY: usize = 2 * 1024;

/// Bodies above this size are parsed one at a time.
const LARGE_BODY: usize = 256 * 1024;

const SAMPLES_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-samples-written");
const HISTOGRAMS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-histograms-written");
const EXEMPLARS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-exemplars-written");

/// `POST /api/v1/write`
pub(super) async fn write(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let version = version(&headers)?;
    let (small, large) = (body.len() <= SMALL_BODY, body.len() > LARGE_BODY);
    let (db, exemplars) = (engine.db.clone(), Arc::clone(&engine.exemplars));
    let work = move || remote_write::receive(&db, &exemplars, version, &body);
    // A small body can still decompress to many samples, hence the low limit.
    let received = match small {
        true => work(),
        false if large => engine.work.large_body(work).await?,
        false => engine.work.body(work).await?,
    };
    let received = received.map_err(|malformed| refused(&malformed))?;
    engine.note("remote write", &received.ingested);
    engine.counters.add_refused_histograms(received.histograms);
    Ok(answer(version, &received))
}

/// The answer to a request that was read. In version 2 its headers count the samples that were
/// written, even if some were refused.
fn answer(version: Version, received: &Received) -> Response {
    let mut response = match faults::check(&received.ingested, "sample") {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.into_response(),
    };
    if version == Version::V2 {
        let counts = [
            (SAMPLES_WRITTEN, received.ingested.written),
            (HISTOGRAMS_WRITTEN, 0),
            (EXEMPLARS_WRITTEN, received.exemplars),
        ];
        response
            .headers_mut()
            .extend(counts.map(|(name, count)| (name, HeaderValue::from(count))));
    }
    response
}

/// The version that the headers name. Missing headers mean version 1, as in Prometheus.
fn version(headers: &HeaderMap) -> Result<Version, ApiError> {
    let text = |name| {
        let value = headers.get(name).map(|value| value.as_bytes());
        String::from_utf8_lossy(value.unwrap_or_default()).to_ascii_lowercase()
    };
    if !matches!(text(header::CONTENT_ENCODING).as_str(), "" | "snappy") {
        return Err(unsupported("Content-Encoding must be snappy"));
    }
    let content_type = text(header::CONTENT_TYPE);
    let mut parts = content_type.split(';').map(str::trim);
    if !matches!(parts.next(), None | Some("" | "application/x-protobuf")) {
        return Err(unsupported("Content-Type must be application/x-protobuf"));
    }
    match parts.find_map(|part| part.strip_prefix("proto=")) {
        None | Some("prometheus.writerequest") => Ok(Version::V1),
        Some("io.prometheus.write.v2.request") => Ok(Version::V2),
        Some(_) => Err(unsupported(
            "proto must be prometheus.WriteRequest or io.prometheus.write.v2.Request",
        )),
    }
}

fn unsupported(message: &str) -> ApiError {
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    ApiError::new(status, "UNSUPPORTED_MEDIA_TYPE", message)
}

fn refused(malformed: &Malformed) -> ApiError {
    match malformed {
        Malformed::TooLarge { .. } | Malformed::PartTooLarge => ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "BODY_TOO_LARGE",
            malformed.to_string(),
        ),
        _ => ApiError::invalid(malformed.to_string()),
    }
}
