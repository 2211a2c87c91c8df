//! `GET /dcb/subscribe`: streams events as server-sent events.
//!
//! The server reads the next batch only when the client has taken the previous one. A slow client
//! therefore costs the memory of one batch and no work in the store.

use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query as Parameters, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use dcb_core::{
    Error, EventBatch, EventStore as _, Position, Query, SubscribeOptions, Subscription,
};
use futures_core::Stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::event::write_event;
use super::position::Mark;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::guard::{Guard, Slot};
use crate::stores::Events;

/// The server sends a comment after this much silence, because proxies close idle connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Maximum number of events in a batch.
const BATCH_EVENTS: usize = 64;

#[derive(Debug, Deserialize)]
pub(super) struct SubscribeParameters {
    query: Option<String>,
    after: Option<String>,
}

/// `GET /dcb/subscribe`.
pub(super) async fn subscribe(
    State(events): State<Events>,
    State(guard): State<Arc<Guard>>,
    headers: HeaderMap,
    parameters: Result<Parameters<SubscribeParameters>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Parameters(parameters) =
        parameters.map_err(|rejected| ApiError::invalid(rejected.body_text()))?;
    let query = QueryDto::of_parameter(parameters.query.as_deref())?;
    let after = after(&headers, parameters.after.as_deref())?;
    // The slot comes first: a refused subscription should not cost a read of the head.
    let slot = guard.subscribe()?;
    check_within(&events, after).await?;
    let events = subscription(&events, query, after);
    let body = Body::from_stream(frames(events, guard.ending(), KEEP_ALIVE, slot));
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((head, body).into_response())
}

/// The last event that the client has seen. `Last-Event-ID`, which a browser sends when it
/// reconnects, is newer than the `after` in the URL.
fn after(headers: &HeaderMap, parameter: Option<&str>) -> Result<Option<Position>, ApiError> {
    let id = headers.get("last-event-id");
    let (name, text) = match id.filter(|id| !id.is_empty()) {
        // "?" is not a position, so an unreadable header gets the same error as a malformed one.
        Some(id) => ("Last-Event-ID", id.to_str().unwrap_or("?")),
        None => ("after", parameter.unwrap_or_default()),
    };
    if text.is_empty() {
        return Ok(None);
    }
    Mark::parse(name, text).map(Mark::position)
}

/// Rejects a position beyond the head while the response can still have an error status.
async fn check_within(events: &Events, after: Option<Position>) -> Result<(), ApiError> {
    let Some(after) = after else {
        return Ok(());
    };
    let head = events.head().await?;
    if head < Some(after) {
        return Err(Error::AfterBeyondHead { after, head }.into());
    }
    Ok(())
}

fn subscription(events: &Events, query: Query, after: Option<Position>) -> Subscription {
    let options = SubscribeOptions::new().batch_size(BATCH_EVENTS);
    events.subscribe(query, after, options)
}

/// The frames of the response, until the server stops or the subscription fails.
fn frames(
    mut events: Subscription,
    mut ending: watch::Receiver<bool>,
    keep_alive: Duration,
    slot: Slot,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static {
    try_stream! {
        let _slot = slot;
        let mut keep_alive_at = Instant::now() + keep_alive;
        loop {
            let frame = tokio::select! {
                batch = events.next_batch() => match batch {
                    // An empty batch only reports progress.
                    Some(Ok(batch)) if batch.events.is_empty() => continue,
                    Some(Ok(batch)) => batch_frame(&batch),
                    Some(Err(error)) => {
                        yield error_frame(error);
                        break;
                    }
                    None => break,
                },
                () = sleep_until(keep_alive_at) => Bytes::from_static(b":\n\n"),
                () = stopped(&mut ending) => break,
            };
            yield frame;
            keep_alive_at = Instant::now() + keep_alive;
        }
    }
}

async fn stopped(ending: &mut watch::Receiver<bool>) {
    // An error means that the sender, and with it the server, is gone.
    let _ = ending.wait_for(|ending| *ending).await;
}

fn batch_frame(batch: &EventBatch) -> Bytes {
    let mut out = Vec::new();
    for event in &batch.events {
        out.extend_from_slice(format!("id: {}\nevent: event\ndata: ", event.position()).as_bytes());
        // JSON escapes line breaks, so the data is always one line.
        write_event(event, &mut out);
        out.extend_from_slice(b"\n\n");
    }
    out.into()
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
    use crate::settings::Settings;

    #[tokio::test]
    async fn idle_subscription_sends_comments() {
        let events = Events::open("memory:").await.unwrap();
        let guard = Guard::of(&Settings::in_memory());
        let subscription = subscription(&events, Query::all(), None);
        let slot = guard.subscribe().unwrap();
        let keep_alive = Duration::from_millis(1);
        let mut frames = pin!(frames(subscription, guard.ending(), keep_alive, slot));
        for _ in 0..3 {
            assert_eq!(frames.next().await.unwrap().unwrap(), &b":\n\n"[..]);
        }
        guard.end_subscriptions();
        while frames.next().await.is_some() {}
        events.close().await;
    }
}
