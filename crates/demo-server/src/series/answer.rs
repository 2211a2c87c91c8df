use std::borrow::Cow;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc;

use super::work::{Place, Work};
use crate::error::ApiError;

const JSON: &str = "application/json";
/// Longer answers are sent in pieces of this length.
const PIECE: usize = 256 * 1024;
/// How long a client may take for a longer answer.
const LIMIT: Duration = Duration::from_secs(60);

/// An answer of JSON.
pub(super) fn json(status: u16, body: impl Into<Cow<'static, str>>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = match body.into() {
        Cow::Borrowed(body) => Bytes::from_static(body.as_bytes()),
        Cow::Owned(body) => Bytes::from(body),
    };
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// An answer of 200 with JSON of any length. It keeps its place among the queries until there is
/// room for it among the answers that are being sent, and that room until it is sent; a client that
/// takes it too slowly is cut off.
pub(super) async fn large_json(
    work: &Work,
    body: String,
    place: Place,
) -> Result<Response, ApiError> {
    if body.len() <= PIECE {
        return Ok(json(200, body));
    }
    let room = work.room_for(body.len()).await?;
    drop(place);
    let headers = [
        (header::CONTENT_TYPE, JSON.to_owned()),
        (header::CONTENT_LENGTH, body.len().to_string()),
    ];
    Ok((headers, in_pieces(body, room)).into_response())
}

fn in_pieces(body: String, room: Place) -> Body {
    let (sender, mut receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        let _room = room;
        let send = async {
            for piece in body.as_bytes().chunks(PIECE) {
                // A copy, so that a piece on its way does not hold the whole.
                if sender.send(Bytes::copy_from_slice(piece)).await.is_err() {
                    return;
                }
            }
        };
        // An answer that ends before its length closes the connection.
        let _ = tokio::time::timeout(LIMIT, send).await;
    });
    let pieces = stream::poll_fn(move |context| receiver.poll_recv(context));
    Body::from_stream(pieces.map(Ok::<Bytes, Infallible>))
}
