//! `POST /import`: lines of JSON, stored as they come, part by part.
//!
//! What goes wrong before the first part is stored is answered with a status; from then on the
//! answer is a stream of events: `{"imported","gpos"}` after a part, and at the end
//! `{"done":true,"imported","skipped","elapsed"}` or `{"error","message"}`. What was stored before
//! an error stays: the same import, begun again, passes over it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use message_store::{Error, GlobalPosition, Imported, MessageStore as _, import_ndjson};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::api_error;
use super::lines::Lines;
use super::subscribe::event_stream;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::guard::Place;
use crate::stores::Messages;

/// About how many bytes of lines are stored before it is told.
const PART_BYTES: usize = 1 << 20;
/// What a gzip file begins with, and no line of JSON.
const GZIP: u8 = 0x1f;

#[derive(Deserialize)]
pub(super) struct Parameters {
    force: Option<String>,
}

/// `POST /import`.
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    parameters: Result<Query<Parameters>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let Query(parameters) =
        parameters.map_err(|_| ApiError::invalid("the query string can't be read"))?;
    let is_forced = parameters.is_forced()?;
    let is_gzip = is_gzip(&headers)?;
    let store = caller.namespace()?.store.clone();
    let place = app.guard.import()?;
    if !is_forced && store.head().await.map_err(api_error)?.is_some() {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "NAMESPACE_NOT_EMPTY",
            "the namespace has messages: add force=true to import what comes after them",
        ));
    }
    let mut import = Import {
        store,
        body,
        body_limit: app.guard.body_limit(),
        lines: Lines::new(is_gzip, app.settings.max_body_bytes),
        lines_before: 0,
        imported: Imported::default(),
        is_over: false,
        started: Instant::now(),
        _place: place,
    };
    import.store_part().await?;
    let events = import.events().map(Ok::<_, Infallible>);
    Ok(event_stream(Body::from_stream(events)))
}

impl Parameters {
    fn is_forced(&self) -> Result<bool, ApiError> {
        match self.force.as_deref() {
            None | Some("" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(ApiError::invalid_field(
                "force",
                "force is neither true nor false",
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
            "Content-Encoding is neither gzip nor identity",
        )),
    }
}

/// An import under way.
struct Import {
    store: Messages,
    body: Body,
    body_limit: Duration,
    lines: Lines,
    /// The lines of the parts that are stored.
    lines_before: u64,
    imported: Imported,
    is_over: bool,
    started: Instant,
    _place: Place,
}

impl Import {
    /// Stores the next part, or what is left at the end of the body.
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
            let reason = "it is compressed, and Content-Encoding does not say so";
            return Err(unreadable(reason));
        }
        let stored = import_ndjson(&self.store, part.as_slice(), |_| {}).await;
        let stored = stored.map_err(|failed| match failed {
            Error::InvalidLine { line, reason } => Error::InvalidLine {
                line: self.lines_before + line,
                reason,
            },
            other => other,
        });
        let stored = stored.map_err(api_error)?;
        self.imported.read += stored.read;
        self.imported.stored += stored.stored;
        self.lines_before += part.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(())
    }

    /// The next piece of the body, `None` at its end.
    async fn piece(&mut self) -> Result<Option<Bytes>, ApiError> {
        let frame = timeout(self.body_limit, self.body.frame());
        match frame.await.map_err(|_| ApiError::body_timeout())? {
            None => Ok(None),
            Some(Ok(frame)) => Ok(Some(frame.into_data().unwrap_or_default())),
            Some(Err(_)) => Err(unreadable("it ended early")),
        }
    }

    /// What is told once the first part is stored, while the others are.
    fn events(mut self) -> impl Stream<Item = Bytes> {
        async_stream::stream! {
            let mut outcome = Ok(());
            while !self.is_over && outcome.is_ok() {
                yield event(&self.progress().await);
                outcome = self.store_part().await;
            }
            yield event(&match outcome {
                Ok(()) => self.done(),
                Err(failed) => told(&failed),
            });
        }
    }

    // Exclusive, because a body is not shared between threads.
    async fn progress(&mut self) -> Value {
        let head = self.store.head().await.ok().flatten();
        json!({
            "imported": self.imported.stored,
            "gpos": head.map_or(0, GlobalPosition::get),
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
    ApiError::invalid(format!("the body can't be read: {reason}"))
}

fn told(failed: &ApiError) -> Value {
    let mut told = json!({ "error": failed.code, "message": failed.message });
    if let Some(line) = failed
        .details
        .as_ref()
        .and_then(|details| details.get("line"))
    {
        told["line"] = line.clone();
    }
    told
}

fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}
