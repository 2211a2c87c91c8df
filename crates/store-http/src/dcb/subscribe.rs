//! `GET /dcb/subscribe`: streams events as server-sent events.
//!
//! The server reads the next batch only when the client has taken the previous one. A slow client
//! misses nothing and costs little memory; see [`crate::outbox`].

use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use dcb_core::{AnyStore, Bookmark, Error, EventStore as _, Query, ReadOptions};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use super::Dcb;
use super::feed::{Feed, Part};
use super::position::Place;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::event_stream::event_stream;
use crate::guard::Slot;
use crate::input::{Parameters, parse_parameter};
use crate::outbox::{InTurns, Mailbox};

/// The server sends a comment after this much silence, because proxies close idle connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SubscribeParameters {
    query: String,
    after: String,
}

/// `GET /dcb/subscribe`.
pub(super) async fn subscribe(
    State(dcb): State<Arc<Dcb>>,
    headers: HeaderMap,
    Parameters(parameters): Parameters<SubscribeParameters>,
) -> Result<Response, ApiError> {
    let query = parse_parameter::<QueryDto>("query", &parameters.query)?.into_query();
    let after = after(&headers, &parameters.after)?;
    // The slot comes first: a refused subscription should not cost a read of the head.
    let Dcb {
        events, service, ..
    } = &*dcb;
    let slot = service.guard.subscribe()?;
    check(events, after).await?;
    let store = InTurns {
        store: events.clone(),
        outbox: Arc::clone(&service.outbox),
    };
    let feed = Feed::new(store, query, after);
    let frames = frames(
        feed,
        service.mailbox(),
        service.guard.ending(),
        KEEP_ALIVE,
        slot,
    );
    let body = Body::from_stream(frames);
    Ok(event_stream(body))
}

/// The last event that the client has seen. `Last-Event-ID`, which a browser sends when it
/// reconnects, is newer than the `after` in the URL.
fn after(headers: &HeaderMap, parameter: &str) -> Result<Option<Bookmark>, ApiError> {
    let id = headers.get("last-event-id");
    let (name, text) = match id.filter(|id| !id.is_empty()) {
        // "?" is not a position, so an unreadable header gets the same error as a malformed one.
        Some(id) => ("Last-Event-ID", id.to_str().unwrap_or("?")),
        None => ("after", parameter),
    };
    if text.is_empty() {
        return Ok(None);
    }
    Place::parse(name, text).map(|place| place.bookmark(None))
}

/// Rejects a place that the log does not have while the response can still have an error status.
async fn check(events: &AnyStore, after: Option<Bookmark>) -> Result<(), ApiError> {
    if after.is_some() {
        let nothing = ReadOptions::new().after(after).limit(0);
        events.query(&Query::all(), nothing).await?;
    }
    Ok(())
}

/// The frames of the response, until the server stops or the subscription fails.
fn frames(
    mut feed: Feed,
    mailbox: Mailbox,
    mut ending: watch::Receiver<bool>,
    keep_alive: Duration,
    slot: Slot,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static {
    try_stream! {
        let _slot = slot;
        loop {
            // The store is read again only after the client has read the previous part.
            let turn = tokio::select! {
                turn = mailbox.turn() => turn,
                () = stopped(&mut ending) => break,
            };
            let next = loop {
                tokio::select! {
                    next = feed.next() => break next,
                    () = sleep(keep_alive) => yield Bytes::from_static(b":\n\n"),
                    () = stopped(&mut ending) => break None,
                }
            };
            match next {
                Some(Ok(Part::Own(text))) => yield mailbox.piece(text, turn, None),
                Some(Ok(Part::Shared(frame, from))) => yield frame.piece(from, turn),
                // In the middle of an event, an error would become a part of its data.
                Some(Err(error)) if !feed.is_amid_event() => {
                    yield error_frame(error);
                    break;
                }
                Some(Err(_)) | None => break,
            }
        }
    }
}

async fn stopped(ending: &mut watch::Receiver<bool>) {
    // An error means that the sender, and with it the server, is gone.
    let _ = ending.wait_for(|ending| *ending).await;
}

/// The last frame of a failed subscription.
fn error_frame(error: Error) -> Bytes {
    let error = ApiError::from(error);
    let data = json!({ "error": error.message, "code": error.code });
    format!("event: error\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::StreamExt as _;

    use super::*;
    use crate::limits::Limits;
    use crate::service::Service;

    #[tokio::test]
    async fn idle_subscription_sends_comments() {
        let store = AnyStore::open("memory:").await.unwrap();
        let service = Service::new(&Limits::default(), Arc::new(()));
        let mailbox = service.mailbox();
        let (guard, outbox) = (&service.guard, Arc::clone(&service.outbox));
        let events = store.clone();
        let feed = Feed::new(InTurns { store, outbox }, Query::all(), None);
        let slot = guard.subscribe().unwrap();
        let keep_alive = Duration::from_millis(1);
        let mut frames = pin!(frames(feed, mailbox, guard.ending(), keep_alive, slot));
        for _ in 0..3 {
            assert_eq!(frames.next().await.unwrap().unwrap(), &b":\n\n"[..]);
        }
        service.end_subscriptions();
        while frames.next().await.is_some() {}
        events.close().await;
    }
}
