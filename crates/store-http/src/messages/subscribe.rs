//! `GET /subscribe`: sends a poke for every message from a position on, as server-sent events.
//!
//! A poke has the position of a message but not its contents; its id is the message's bookmark. Pokes are never merged or lost. A
//! subscription reads pages by position, and the store's hints about new messages only wake it up,
//! so there is no gap between old and new messages. It reads on only when the client has taken the
//! previous pokes, so a slow client costs little memory; see [`crate::outbox`]. A client that reads nothing for
//! long is cut off and can continue from its last position. Tests:
//! `tests/it/messages/subscribe.rs`.

use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use message_store::{
    AnyStore, Bookmark, Category, ConsumerGroup, Error, GlobalPosition, MessageStore as _,
    Position, RecordedMessage, Start, StreamName, SubscribeOptions, Subscription,
};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Messages;
use super::arguments::bookmark;
use super::caller::Caller;
use super::rows::{push_id, push_number, push_text};
use super::stream::read_after;
use crate::error::ApiError;
use crate::event_stream::event_stream;
use crate::guard::Slot;
use crate::input::Parameters;
use crate::outbox::Mailbox;
use crate::service::Service;

/// The server sends a comment after this much silence. The comment reveals a client that is gone,
/// and keeps proxies from closing the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Size of a poke whose stream has the longest name, all of it escaped.
const MAX_POKE_BYTES: usize = 7 << 10;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Source {
    stream: String,
    category: String,
    all: String,
    position: String,
    after: String,
    consumer: String,
    size: String,
}

/// `GET /subscribe`.
pub(super) async fn subscribe(
    State(messages): State<Arc<Messages>>,
    caller: Caller,
    headers: HeaderMap,
    Parameters(source): Parameters<Source>,
) -> Result<Response, ApiError> {
    let after = source.after(&headers)?;
    let subscription = source
        .subscription(&caller.namespace()?.store, after)
        .await?;
    let Service { guard, .. } = &messages.service;
    let slot = guard.subscribe()?;
    if after.is_some() {
        // Tells a client that lost its place by a status. After an event, a browser would try again.
        subscription.lag().await?;
    }
    let pokes = pokes(
        subscription,
        messages.service.mailbox(),
        guard.ending(),
        slot,
    );
    Ok(event_stream(Body::from_stream(
        pokes.map(Ok::<_, Infallible>),
    )))
}

impl Source {
    async fn subscription(
        &self,
        store: &AnyStore,
        after: Option<Bookmark>,
    ) -> Result<Subscription<AnyStore>, ApiError> {
        let all = match given(&self.all) {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                return Err(ApiError::invalid_field("all", "all must be true or false"));
            }
        };
        let position = self.position()?;
        let group = self.group()?;
        let options = SubscribeOptions::new();
        let category = match (given(&self.stream), given(&self.category), all) {
            // A group shares a category by its streams, so one stream can't be shared.
            (Some(_), None, false) if group.is_some() => {
                let message = "consumer and size need a category, not a stream";
                return Err(ApiError::invalid_field("consumer", message));
            }
            (Some(name), None, false) => {
                let stream = StreamName::new(name)?;
                let from = match after {
                    Some(handled) => read_after(store, &stream, handled).await?,
                    None => Position::new(position).into(),
                };
                return Ok(store.subscribe_to_stream(stream, from, options));
            }
            (None, Some(name), false) => Category::new(name)?,
            (None, None, true) => Category::all(),
            _ => {
                let message = "exactly one of stream, category and all=true is required";
                return Err(ApiError::invalid(message));
            }
        };
        let from = after.map_or_else(|| GlobalPosition::new(position).into(), Start::from);
        Ok(match group {
            Some(group) => store.subscribe_to_group(category, group, from, options),
            None => store.subscribe_to_category(category, from, options),
        })
    }

    /// The last message that the client has handled. `Last-Event-ID`, which a browser sends when it
    /// reconnects, is newer than the parameters.
    fn after(&self, headers: &HeaderMap) -> Result<Option<Bookmark>, ApiError> {
        if let Some(id) = headers.get("last-event-id").filter(|id| !id.is_empty()) {
            // "?" is no bookmark, so an unreadable header gets the same error as a malformed one.
            return bookmark("Last-Event-ID", id.to_str().unwrap_or("?")).map(Some);
        }
        match (given(&self.after), given(&self.position)) {
            (Some(_), Some(_)) => {
                let message = "position and after exclude each other";
                Err(ApiError::invalid_field("after", message))
            }
            (after, _) => after.map(|text| bookmark("after", text)).transpose(),
        }
    }

    /// The position to start from. Negative values mean the start.
    fn position(&self) -> Result<u64, ApiError> {
        let position = given(&self.position);
        let position = position.map(|text| number::<i64>("position", text));
        Ok(u64::try_from(position.transpose()?.unwrap_or(0)).unwrap_or(0))
    }

    fn group(&self) -> Result<Option<ConsumerGroup>, ApiError> {
        let (member, size) = match (given(&self.consumer), given(&self.size)) {
            (None, None) => return Ok(None),
            (Some(member), Some(size)) => (member, size),
            (None, Some(_)) => {
                return Err(ApiError::invalid_field("consumer", "consumer is missing"));
            }
            (Some(_), None) => return Err(ApiError::invalid_field("size", "size is missing")),
        };
        let group = ConsumerGroup::new(number("consumer", member)?, number("size", size)?);
        group.map(Some).map_err(|failed| match failed {
            Error::Invalid { field, problem } => {
                let name = match field.ends_with("size") {
                    true => "size",
                    false => "consumer",
                };
                ApiError::invalid_field(name, format!("{name} {problem}"))
            }
            other => other.into(),
        })
    }
}

/// A parameter that is present and not empty.
fn given(parameter: &str) -> Option<&str> {
    Some(parameter).filter(|text| !text.is_empty())
}

fn number<T: FromStr>(field: &str, text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|_| ApiError::invalid_field(field, format!("{field} must be a whole number")))
}

/// The events of a subscription, until the server stops, the namespace is deleted or the store
/// fails. The client can subscribe again from its last position.
fn pokes(
    mut subscription: Subscription<AnyStore>,
    mailbox: Mailbox,
    mut ending: watch::Receiver<bool>,
    slot: Slot,
) -> impl Stream<Item = Bytes> {
    async_stream::stream! {
        let _slot = slot;
        // Sends the head of the response at once, so that the client knows the subscription is
        // open.
        yield Bytes::from_static(b": ready\n\n");
        let mut turn = mailbox.turn().await;
        loop {
            let next = tokio::select! {
                // The stop signal comes first, or a busy stream could delay it forever.
                biased;
                _ = ending.wait_for(|ends| *ends) => break,
                // Dropping `next` at the timeout loses nothing: the position moves only with a
                // message.
                next = timeout(KEEP_ALIVE, subscription.next()) => next,
            };
            match next {
                Ok(Ok(message)) => {
                    let pokes = batch(&message, &mut subscription, mailbox.outbox().share()).await;
                    yield mailbox.piece(pokes, turn, None);
                    turn = tokio::select! {
                        _ = ending.wait_for(|ends| *ends) => break,
                        turn = mailbox.turn() => turn,
                    };
                }
                Ok(Err(failed)) => {
                    let error = ApiError::from(failed);
                    yield event("error", &serde_json::json!({
                        "code": error.code,
                        "message": error.message,
                    }));
                    break;
                }
                Err(_) => yield Bytes::from_static(b": quiet\n\n"),
            }
        }
    }
}

/// The pokes of this message and of those that were read with it, as many as fit into the share.
/// The other messages are read again, rather than kept until the client has read these pokes.
async fn batch(
    first: &RecordedMessage,
    subscription: &mut Subscription<AnyStore>,
    share: usize,
) -> Vec<u8> {
    let mut pokes = Vec::with_capacity(128);
    push_poke(&mut pokes, first);
    while subscription.read_ahead() > 0 && pokes.len() + MAX_POKE_BYTES <= share {
        // Messages that were read ahead need no read, which could fail.
        let Ok(Some(message)) = subscription.try_next().await else {
            break;
        };
        push_poke(&mut pokes, &message);
    }
    subscription.drop_read_ahead();
    pokes
}

fn push_poke(pokes: &mut Vec<u8>, message: &RecordedMessage) {
    pokes.extend_from_slice(b"event: poke\ndata: {\"stream\":");
    push_text(pokes, message.stream_name());
    pokes.extend_from_slice(b",\"position\":");
    push_number(pokes, message.position().get());
    pokes.extend_from_slice(b",\"globalPosition\":");
    push_number(pokes, message.global_position().get());
    pokes.extend_from_slice(b"}\nid: ");
    push_number(pokes, message.global_position().get());
    pokes.push(b'@');
    push_id(pokes, message);
    pokes.extend_from_slice(b"\n\n");
}

fn event(name: &str, data: &impl Display) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}
