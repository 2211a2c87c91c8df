//! `GET /dcb/subscribe`: events as they are appended, as server-sent events.
//!
//! What is read next is read when the client has taken what was sent before. So a slow client costs
//! no more memory than a batch, and the store nothing at all.

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
use crate::app::App;
use crate::error::ApiError;
use crate::guard::Place;
use crate::stores::Events;

/// How long nothing may be sent: proxies end a connection that is silent for longer.
const SILENCE: Duration = Duration::from_secs(15);
/// The most events that a subscription reads at once.
const BATCH_EVENTS: usize = 64;

#[derive(Debug, Deserialize)]
pub(super) struct SubscribeParameters {
    query: Option<String>,
    after: Option<String>,
}

/// `GET /dcb/subscribe`.
pub(super) async fn subscribe(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    parameters: Result<Parameters<SubscribeParameters>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Parameters(parameters) =
        parameters.map_err(|rejected| ApiError::invalid(rejected.body_text()))?;
    let query = QueryDto::of_parameter(parameters.query.as_deref())?;
    let after = after(&headers, parameters.after.as_deref())?;
    let place = app.guard.subscribe()?;
    check_within(&app.stores.events, after).await?;
    let events = subscription(&app.stores.events, query, after);
    let body = Body::from_stream(frames(events, app.ending(), SILENCE, place));
    let head = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok((head, body).into_response())
}

/// The last event that the client has seen: what it says on coming back, or on coming first.
fn after(headers: &HeaderMap, parameter: Option<&str>) -> Result<Option<Position>, ApiError> {
    let id = headers.get("last-event-id");
    let (name, text) = match id.filter(|id| !id.is_empty()) {
        Some(id) => ("Last-Event-ID", id.to_str().unwrap_or("?")),
        None => ("after", parameter.unwrap_or_default()),
    };
    if text.is_empty() {
        return Ok(None);
    }
    Mark::parse(name, text).map(Mark::position)
}

/// Refuses a position that the log does not have, while there is a status to refuse it with.
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

/// What is sent, until the server stops or the subscription fails.
fn frames(
    mut events: Subscription,
    mut ending: watch::Receiver<bool>,
    silence: Duration,
    place: Place,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static {
    try_stream! {
        let _place = place;
        let mut speak_at = Instant::now() + silence;
        loop {
            let frame = tokio::select! {
                batch = events.next_batch() => match batch {
                    Some(Ok(batch)) if batch.events.is_empty() => continue,
                    Some(Ok(batch)) => written(&batch),
                    Some(Err(error)) => {
                        yield failure(error);
                        break;
                    }
                    None => break,
                },
                () = sleep_until(speak_at) => Bytes::from_static(b":\n\n"),
                () = stopped(&mut ending) => break,
            };
            yield frame;
            speak_at = Instant::now() + silence;
        }
    }
}

async fn stopped(ending: &mut watch::Receiver<bool>) {
    // It also ends with the server itself.
    let _ = ending.wait_for(|ending| *ending).await;
}

fn written(batch: &EventBatch) -> Bytes {
    let mut out = Vec::new();
    for event in &batch.events {
        out.extend_from_slice(format!("id: {}\nevent: event\ndata: ", event.position()).as_bytes());
        // JSON has its line ends escaped.
        write_event(event, &mut out);
        out.extend_from_slice(b"\n\n");
    }
    out.into()
}

/// The last that is sent where the subscription can't go on.
fn failure(error: Error) -> Bytes {
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
    async fn silence_is_broken_by_a_comment() {
        let app = App::open(Settings::in_memory()).await.unwrap();
        let events = subscription(&app.stores.events, Query::all(), None);
        let place = app.guard.subscribe().unwrap();
        let silence = Duration::from_millis(1);
        let mut frames = pin!(frames(events, app.ending(), silence, place));
        for _ in 0..3 {
            assert_eq!(frames.next().await.unwrap().unwrap(), &b":\n\n"[..]);
        }
        app.end_subscriptions();
        while frames.next().await.is_some() {}
        app.close().await;
    }
}
