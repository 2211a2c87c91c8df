//! `GET /dcb/read`: reads events.
//!
//! A result that fits into one chunk is sent as a whole. A longer one is read chunk by chunk as the
//! client takes it. No connection or transaction stays open between chunks. All chunks still belong
//! to one snapshot, because events up to the head at the first chunk never change.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use dcb_core::{AnyStore, Bookmark, Error, EventStore as _, Position, Query, ReadOptions};
use serde::Deserialize;

use super::Dcb;
use super::event::write_event;
use super::json::response;
use super::position::Mark;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::input::{Parameters, parse_parameter};
use crate::outbox::{Chunks, pieces};

/// A chunk ends with the event that exceeds this size.
const CHUNK_BYTES: usize = 128 << 10;
/// Maximum number of events in a chunk: the stores' page size.
const CHUNK_EVENTS: u64 = 256;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReadParameters {
    query: String,
    options: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionsDto {
    from: Option<Mark>,
    limit: Option<Mark>,
    backwards: Option<bool>,
}

impl OptionsDto {
    fn into_options(self) -> ReadOptions {
        let from = self.from.map(Mark::position);
        let limit = self.limit.map(|Mark(limit)| limit);
        let options = ReadOptions::new().from(from.flatten()).limit(limit);
        match (self.backwards, from) {
            // 0 is before the first event, so there is nothing to read backwards.
            (Some(true), Some(None)) => options.limit(0),
            (Some(true), _) => options.backwards(),
            _ => options,
        }
    }
}

/// `GET /dcb/read`.
pub(super) async fn read_events(
    State(dcb): State<Arc<Dcb>>,
    Parameters(parameters): Parameters<ReadParameters>,
) -> Result<Response, ApiError> {
    let query = parse_parameter::<QueryDto>("query", &parameters.query)?.into_query();
    let options = parse_parameter::<OptionsDto>("options", &parameters.options)?.into_options();
    let start = Read::new(dcb.events.clone(), query, options);
    let mut read = start.clone();
    let first = read.chunk().await?;
    if read.ended {
        return Ok(response(first));
    }
    // A long response keeps running like a subscription, so it takes a slot of the subscriptions.
    let slot = dcb.service.guard.subscribe()?;
    let body = pieces(dcb.service.mailbox(), start, read, first, slot);
    let body = Body::from_stream(body);
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// A read in progress.
#[derive(Clone)]
struct Read {
    events: AnyStore,
    query: Query,
    /// The part that is not read yet.
    options: ReadOptions,
    /// The head at the first chunk. `None` before that chunk, `Some(None)` for an empty log.
    head: Option<Option<Position>>,
    any: bool,
    ended: bool,
}

impl Read {
    fn new(events: AnyStore, query: Query, options: ReadOptions) -> Self {
        Self {
            events,
            query,
            options,
            head: None,
            any: false,
            ended: false,
        }
    }
}

impl Chunks for Read {
    type Error = Error;

    /// The next chunk of the JSON array.
    async fn chunk(&mut self) -> Result<Vec<u8>, Error> {
        if self.ended {
            return Ok(Vec::new());
        }
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let options = self.options.limit(limit.min(CHUNK_EVENTS));
        let mut events = self.events.query_stream(&self.query, options).await?;
        let mut out = Vec::with_capacity(8 << 10);
        if self.head.is_none() {
            out.push(b'[');
        }
        let head = Bookmark::position_of(events.head());
        let head = *self.head.get_or_insert(head);
        let mut seen = 0;
        self.ended = loop {
            if out.len() >= CHUNK_BYTES {
                break seen == limit;
            }
            match events.next().await.transpose()? {
                // Events appended after the first chunk do not belong to its snapshot.
                Some(event) if Some(event.position()) <= head => {
                    if std::mem::replace(&mut self.any, true) {
                        out.push(b',');
                    }
                    write_event(&event, &mut out);
                    seen += 1;
                    self.options = self.options.from(None::<Position>).after(event.bookmark());
                }
                Some(_) => break true,
                // The store returns full pages, so a short page is the last.
                None => break seen < CHUNK_EVENTS || seen == limit,
            }
        };
        self.options = self
            .options
            .limit(self.options.limit.map(|limit| limit - seen));
        if self.ended {
            out.push(b']');
        }
        Ok(out)
    }
}
