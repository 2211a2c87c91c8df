//! `POST /import`: stores lines of JSON as they arrive, part by part.
//!
//! If the first part can't be stored, the response is an error with its HTTP status. Otherwise the
//! response is a stream of events: `{"imported","gpos"}` after each part, and at the end
//! `{"done":true,"imported","skipped","elapsed"}` or `{"error","message"}`. An error does not undo
//! earlier parts. Repeating the import skips the messages that are already stored.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use message_store::{AnyStore, Error, MessageStore as _, ndjson};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Messages;
use super::caller::Caller;
use super::lines::Lines;
use crate::error::ApiError;
use crate::event_stream::event_stream;
use crate::guard::Slot;
use crate::input::Parameters;
use crate::service::Watch;

/// Approximate size of a part. Progress is reported after each.
const PART_BYTES: usize = 1 << 20;
/// First byte of a gzip file. No line of JSON begins with it.
const GZIP: u8 = 0x1f;

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ImportParameters {
    force: String,
}

/// `POST /import`.
pub(super) async fn import(
    State(messages): State<Arc<Messages>>,
    caller: Caller,
    Parameters(parameters): Parameters<ImportParameters>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let is_forced = parameters.is_forced()?;
    let is_gzip = is_gzip(&headers)?;
    let store = caller.namespace()?.store.clone();
    let guard = &messages.service.guard;
    let slot = guard.import()?;
    // This check comes before the body is read, so that the client gets the error early.
    if !is_forced && store.head().await?.is_some() {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "NAMESPACE_NOT_EMPTY",
            "the namespace has messages: use force=true to import only what comes after them",
        ));
    }
    let mut import = Import {
        store,
        watch: Arc::clone(&messages.service.watch),
        body,
        body_limit: guard.body_limit(),
        lines: Lines::new(is_gzip, guard.max_body_bytes()),
        lines_before: 0,
        imported: ndjson::Imported::default(),
        is_over: false,
        started: Instant::now(),
        _slot: slot,
    };
    // The first part runs before the response starts, so that its errors get a status.
    import.store_part().await?;
    let events = import.events().map(Ok::<_, Infallible>);
    Ok(event_stream(Body::from_stream(events)))
}

impl ImportParameters {
    fn is_forced(&self) -> Result<bool, ApiError> {
        match self.force.as_str() {
            "" | "false" => Ok(false),
            "true" => Ok(true),
            _ => Err(ApiError::invalid_field(
                "force",
                "force must be true or false",
            )),
        }
    }
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, ApiError> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    let encoding = encoding.map_or(&b"identity"[..], |value| value.as_bytes());
    match encoding.to_ascii_lowercase().as_slice() {
        b"identity" => Ok(false),
        b"gzip" => Ok(true),
        _ => Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "Content-Encoding must be gzip or identity",
        )),
    }
}

/// An import in progress.
struct Import {
    store: AnyStore,
    watch: Arc<dyn Watch>,
    body: Body,
    body_limit: Duration,
    lines: Lines,
    /// Number of lines in the stored parts.
    lines_before: u64,
    imported: ndjson::Imported,
    is_over: bool,
    started: Instant,
    _slot: Slot,
}

impl Import {
    /// Stores the next part, or the rest at the end of the body.
    async fn store_part(&mut self) -> Result<(), ApiError> {
        let part = loop {
            if let Some(part) = self
                .lines
                .part(PART_BYTES)
                .map_err(|reason| unreadable(&reason))?
            {
                break part;
            }
            match self.piece().await? {
                Some(piece) => self.lines.push(piece),
                None => {
                    self.is_over = true;
                    break self.lines.rest().map_err(|reason| unreadable(&reason))?;
                }
            }
        };
        if part.first() == Some(&GZIP) {
            let reason = "the body is compressed, but Content-Encoding does not say so";
            return Err(unreadable(reason));
        }
        let stored = ndjson::import(&self.store, part.as_slice(), |_| {}).await;
        self.watch.wrote_messages(stored.as_ref().err());
        // The store counts lines from the start of the part; errors need the line in the body.
        let stored = stored.map_err(|failed| match failed {
            Error::Import { line, source } => Error::Import {
                line: self.lines_before + line,
                source,
            },
            other => other,
        });
        let stored = stored?;
        self.imported.read += stored.read;
        self.imported.stored += stored.stored;
        self.lines_before += part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(())
    }

    /// The next piece of the body, or `None` at its end.
    async fn piece(&mut self) -> Result<Option<Bytes>, ApiError> {
        // The limit is per piece, because an import may take any time as long as it makes progress.
        let frame = timeout(self.body_limit, self.body.frame());
        match frame.await.map_err(|_| ApiError::body_timeout())? {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(_)) => Err(unreadable("the body ended early")),
        }
    }

    /// The events after the first part, sent while the other parts are stored.
    fn events(mut self) -> impl Stream<Item = Bytes> {
        async_stream::stream! {
            let mut outcome = Ok(());
            while !self.is_over && outcome.is_ok() {
                yield event(&self.progress().await);
                outcome = self.store_part().await;
            }
            yield event(&match outcome {
                Ok(()) => self.done(),
                Err(failed) => error_event(&failed),
            });
        }
    }

    // `&mut`, because `Body` is not `Sync` and the stream must be `Send`.
    async fn progress(&mut self) -> Value {
        // The head is only information, so the import continues if reading it fails.
        let head = self.store.head().await.ok().flatten();
        json!({
            "imported": self.imported.stored,
            "gpos": head.map_or(0, |head| head.position.get()),
        })
    }

    fn done(&self) -> Value {
        json!({
            "done": true,
            "imported": self.imported.stored,
            "skipped": self.imported.read - self.imported.stored,
            "elapsed": format!("{:.1}s", self.started.elapsed().as_secs_f64()),
        })
    }
}

fn unreadable(reason: &str) -> ApiError {
    ApiError::invalid(format!("can't read the body: {reason}"))
}

fn error_event(failed: &ApiError) -> Value {
    let mut event = json!({ "error": failed.code, "message": failed.message });
    if let Some(line) = failed
        .details
        .as_ref()
        .and_then(|details| details.get("line"))
    {
        event["line"] = line.clone();
    }
    event
}

fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}
