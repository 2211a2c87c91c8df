use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;
use tsdb::wire::json::Pieces;

use super::work::{Permit, Work};
use crate::error::ApiError;

const JSON: &str = "application/json";
/// Ready responses are sent in pieces of this size.
const PIECE: usize = 256 * 1024;
/// Bytes of a response that are written but not yet at the client: hyper buffers about 400 KiB, and
/// two pieces wait in the channel.
const AHEAD: usize = 10 * Pieces::BYTES;
/// Time limit for a client to read a large response.
const LIMIT: Duration = Duration::from_secs(60);

/// The warning of an answer that has reached its limit, in Prometheus' words.
pub(super) const TRUNCATED: &str = "results truncated due to limit";

/// A JSON response.
pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, JSON)], body.into()).into_response()
}

/// The body of a success in Prometheus' form.
pub(super) fn success(data: &impl Serialize, warnings: &[String]) -> Result<String, ApiError> {
    #[derive(Serialize)]
    struct Body<'a, T> {
        status: &'static str,
        data: &'a T,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        warnings: &'a [String],
    }
    let body = Body {
        status: "success",
        data,
        warnings,
    };
    serde_json::to_string(&body).map_err(|failed| ApiError::internal(&failed))
}

/// Adds these warnings to the body of a success.
pub(super) fn with_warnings(mut body: String, warnings: &[String]) -> String {
    if !warnings.is_empty() {
        // Replaces the closing brace.
        body.pop();
        body.push_str(&format!(r#","warnings":{}}}"#, serde_json::json!(warnings)));
    }
    body
}

/// A 200 in Prometheus' form, for short answers.
pub(super) fn short(data: &impl Serialize, warnings: &[String]) -> Result<Response, ApiError> {
    Ok(json(200, success(data, warnings)?))
}

/// A 200 with JSON of any length. The query keeps its permit until the sending budget has room for
/// the response, so finished queries cannot pile up in memory. The response keeps its share of the
/// budget until it is sent, at most [`LIMIT`]; then a slow client is cut off.
pub(super) async fn large_json(
    work: &Work,
    body: String,
    permit: Permit,
) -> Result<Response, ApiError> {
    if body.len() <= PIECE {
        return Ok(json(200, body));
    }
    let budget = work.sending_budget(body.len()).await?;
    drop(permit);
    let headers = [
        (header::CONTENT_TYPE, JSON.to_owned()),
        (header::CONTENT_LENGTH, body.len().to_string()),
    ];
    let mut sent = 0;
    let pieces = std::iter::from_fn(move || {
        let rest = &body.as_bytes()[sent..];
        let piece = &rest[..rest.len().min(PIECE)];
        sent += piece.len();
        // A slice of `body` would keep all of it alive while the piece is on its way.
        (!piece.is_empty()).then(|| Bytes::copy_from_slice(piece))
    });
    Ok((headers, in_pieces(pieces, budget, LIMIT)).into_response())
}

/// A 200 that begins with the piece `first`. The rest is generated while it is sent. Its content
/// was fixed when the query ran, so later writes do not change it. Permit and budget work as in
/// [`large_json`]. The length is unknown until the end. Tests: `tests/it/series/json.rs` and
/// `tests` below.
pub(super) async fn written_json(
    work: &Work,
    first: Vec<u8>,
    mut rest: Pieces,
    permit: Permit,
) -> Result<Response, ApiError> {
    let budget = work.sending_budget(rest.size_bytes() + AHEAD).await?;
    drop(permit);
    let mut more = true;
    let rest = std::iter::from_fn(move || {
        more.then(|| {
            let mut piece = Vec::with_capacity(Pieces::BYTES);
            more = rest.write_next(&mut piece);
            Bytes::from(piece)
        })
    });
    let pieces = std::iter::once(Bytes::from(first)).chain(rest);
    let headers = [(header::CONTENT_TYPE, JSON)];
    Ok((headers, in_pieces(pieces, budget, LIMIT)).into_response())
}

/// A body of pieces. At most two pieces are made before the connection takes them. If the client
/// takes longer than `limit`, the body fails and its memory is released.
fn in_pieces(
    pieces: impl Iterator<Item = Bytes> + Send + 'static,
    budget: Permit,
    limit: Duration,
) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    // A separate task: hyper stops polling the body if a client reads nothing, so a timeout
    // inside the stream would never fire.
    tokio::spawn(async move {
        let _budget = budget;
        let send = async {
            for piece in pieces {
                if sender.send(Some(piece)).await.is_err() {
                    return;
                }
            }
            // `None` marks the end. If the channel closes without it, the timeout cut it off.
            let _ = sender.send(None).await;
        };
        let _ = tokio::time::timeout(limit, send).await;
    });
    Body::from_stream(stream::try_unfold(
        receiver,
        async |mut receiver| match receiver.recv().await {
            Some(piece) => Ok(piece.map(|piece| (piece, receiver))),
            None => Err("the client read the response too slowly"),
        },
    ))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn endless(work: &Work, limit: Duration) -> Body {
        let budget = work.sending_budget(1).await.expect("budget is free");
        in_pieces(std::iter::repeat(Bytes::from_static(b"1,")), budget, limit)
    }

    #[tokio::test]
    async fn dropped_response_releases_its_budget() {
        let work = Work::default();
        let mut body = endless(&work, LIMIT).await;
        let piece = body
            .frame()
            .await
            .expect("the body has a piece")
            .expect("the piece is in time");
        assert_eq!(piece.into_data().expect("the frame has data"), "1,");
        drop(body);
        drop(
            work.sending_budget(usize::MAX)
                .await
                .expect("all budget is free"),
        );
    }

    #[tokio::test]
    async fn slowly_read_response_fails() {
        let work = Work::default();
        let body = endless(&work, Duration::from_millis(1)).await;
        drop(
            work.sending_budget(usize::MAX)
                .await
                .expect("all budget is free"),
        );
        assert!(
            body.collect().await.is_err(),
            "the body ended as if it were complete"
        );
    }
}
