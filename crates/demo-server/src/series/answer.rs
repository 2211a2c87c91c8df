use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::mpsc;
use tsdb::wire::json::Pieces;

use super::work::{Place, Work};
use crate::error::ApiError;

const JSON: &str = "application/json";
/// Longer answers that are in memory are sent in pieces of this length.
const PIECE: usize = 256 * 1024;
/// The bytes of an answer that are written and not yet with the client: hyper takes about 400 KiB
/// ahead, and two pieces wait for it.
const AHEAD: usize = 10 * Pieces::BYTES;
/// How long a client may take for a longer answer.
const LIMIT: Duration = Duration::from_secs(60);

/// An answer of JSON.
pub(super) fn json(status: u16, body: impl Into<Bytes>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, JSON)], body.into()).into_response()
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
    let mut sent = 0;
    let pieces = std::iter::from_fn(move || {
        let rest = &body.as_bytes()[sent..];
        let piece = &rest[..rest.len().min(PIECE)];
        sent += piece.len();
        // A copy, so that a piece on its way does not hold the whole.
        (!piece.is_empty()).then(|| Bytes::copy_from_slice(piece))
    });
    Ok((headers, in_pieces(pieces, room, LIMIT)).into_response())
}

/// An answer of 200 that is written while it is sent, after its `first` piece; places and room as
/// for [`large_json`]. Its length is not known before its end.
pub(super) async fn written_json(
    work: &Work,
    first: Vec<u8>,
    mut rest: Pieces,
    place: Place,
) -> Result<Response, ApiError> {
    let room = work.room_for(rest.size_bytes() + AHEAD).await?;
    drop(place);
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
    Ok((headers, in_pieces(pieces, room, LIMIT)).into_response())
}

/// A body of pieces, each of them made when the one before the last was taken. It fails where they
/// are not taken within `limit`, so that nobody holds what it has for the whole.
fn in_pieces(
    pieces: impl Iterator<Item = Bytes> + Send + 'static,
    room: Place,
    limit: Duration,
) -> Body {
    let (sender, receiver) = mpsc::channel(1);
    // A task, so that a client that takes nothing holds memory no longer than one that takes little.
    tokio::spawn(async move {
        let _room = room;
        let send = async {
            for piece in pieces {
                if sender.send(Some(piece)).await.is_err() {
                    return;
                }
            }
            let _ = sender.send(None).await;
        };
        let _ = tokio::time::timeout(limit, send).await;
    });
    Body::from_stream(stream::try_unfold(
        receiver,
        async |mut receiver| match receiver.recv().await {
            Some(piece) => Ok(piece.map(|piece| (piece, receiver))),
            None => Err("the answer was taken too slowly"),
        },
    ))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    async fn endless(work: &Work, limit: Duration) -> Body {
        let room = work.room_for(1).await.expect("room");
        in_pieces(std::iter::repeat(Bytes::from_static(b"1,")), room, limit)
    }

    #[tokio::test]
    async fn an_answer_that_nobody_takes_any_more_leaves_its_room() {
        let work = Work::default();
        let mut body = endless(&work, LIMIT).await;
        let piece = body.frame().await.expect("a piece").expect("in time");
        assert_eq!(piece.into_data().expect("data"), "1,");
        drop(body);
        drop(work.room_for(usize::MAX).await.expect("all room"));
    }

    #[tokio::test]
    async fn an_answer_that_is_taken_too_slowly_fails() {
        let work = Work::default();
        let body = endless(&work, Duration::from_millis(1)).await;
        drop(work.room_for(usize::MAX).await.expect("all room"));
        assert!(
            body.collect().await.is_err(),
            "it ended as if it were whole"
        );
    }
}
