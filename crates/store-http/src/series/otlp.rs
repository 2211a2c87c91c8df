//! OpenTelemetry's metrics, as protocol buffers or JSON.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use prost::Message;
use serde::Serialize;
use tsdb::wire::Ingested;
use tsdb::wire::otlp::{self, Encoding};
use tsdb::{Db, Exemplars};

use super::engine::Engine;
use super::{faults, gzip};
use crate::error::ApiError;

/// Bodies up to this size are parsed on the serving thread, if they are not compressed.
const SMALL_BODY: usize = 4 * 1024;
/// Maximum size of a decompressed body.
const MAX_DECODED_BYTES: usize = 16 << 20;

/// `POST /api/v1/otlp/v1/metrics`
pub(super) async fn write(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let encoding = encoding(&headers)?;
    let compressed = gzip::is_gzip(&headers)?;
    let small = !compressed && body.len() <= SMALL_BODY;
    let large = gzip::is_large(&body, compressed);
    let (db, exemplars) = (engine.db.clone(), Arc::clone(&engine.exemplars));
    let work = move || write_body(&db, &exemplars, encoding, &body, compressed);
    let ingested = match small {
        true => work(),
        false if large => engine.work.large_body(work).await?,
        false => engine.work.body(work).await?,
    }?;
    engine.note("OTLP", &ingested);
    answer(encoding, &ingested)
}

fn encoding(headers: &HeaderMap) -> Result<Encoding, ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let essence = content_type.and_then(|value| value.split(';').next());
    match essence.unwrap_or_default().trim() {
        "application/x-protobuf" => Ok(Encoding::Protobuf),
        "application/json" => Ok(Encoding::Json),
        _ => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "Content-Type must be application/x-protobuf or application/json",
        )),
    }
}

fn write_body(
    db: &Db,
    exemplars: &Exemplars,
    encoding: Encoding,
    body: &[u8],
    compressed: bool,
) -> Result<Ingested, ApiError> {
    let decompressed;
    let body = if compressed {
        decompressed = gzip::decompress(body, MAX_DECODED_BYTES)?;
        &decompressed
    } else {
        body
    };
    otlp::write(db, exemplars, encoding, body)
        .map_err(|malformed| ApiError::invalid(malformed.to_string()))
}

/// The protocol's `ExportMetricsServiceResponse`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    #[serde(serialize_with = "as_text")]
    rejected_data_points: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

/// The protocol's JSON writes 64-bit integers as strings.
fn as_text<S: serde::Serializer>(number: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// If some points were written, a 200 that tells how many were not, because a client must not send
/// the request again. If none was, the error.
fn answer(encoding: Encoding, ingested: &Ingested) -> Result<Response, ApiError> {
    let partial_success = match faults::check(ingested, "data point") {
        Ok(()) => None,
        // Only a response without partial success tells the client to send the request again.
        Err(error) if error.retry_after_s.is_some() || ingested.written == 0 => return Err(error),
        Err(error) => Some(PartialSuccess {
            rejected_data_points: i64::try_from(otlp::refused_points(ingested)).unwrap_or(i64::MAX),
            error_message: error.message,
        }),
    };
    let response = ExportResponse { partial_success };
    let (content_type, body) = match encoding {
        Encoding::Protobuf => ("application/x-protobuf", response.encode_to_vec()),
        Encoding::Json => {
            let body = serde_json::to_vec(&response);
            let body = body.map_err(|failed| ApiError::internal(&failed))?;
            ("application/json", body)
        }
    };
    Ok(([(header::CONTENT_TYPE, content_type)], body).into_response())
}
