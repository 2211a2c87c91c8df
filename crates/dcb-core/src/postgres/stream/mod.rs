//! Streams: a task reads a snapshot of the log in pages, and passes the events on in chunks.
//!
//! Invariants:
//!
//! - All pages of a stream show the same snapshot. No transaction has to stay open between pages,
//!   because the events up to a position never change. The first page sees the head of the log, and
//!   no page reads beyond that position. Only `clear` and a restored log change earlier events: a
//!   stream whose next page finds a lower head ends with [`Error::AfterBeyondHead`], and one that finds
//!   another event in place of its last with [`Error::PastReplaced`]. Tested by the conformance suite
//!   (`suite.rs`), `reads.rs` and `clearing.rs`.
//! - A stream that is not polled keeps no connection: its page waits for 100 ms, then the connection
//!   goes to other reads. The next page begins after the last event that was passed on. Tested by
//!   `held.rs` of the conformance suite and `streams.rs`.
//!
//! If a consumer stops early, the server has read at most one page too many.

mod chunks;
mod pages;
mod reading;

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use postgres_store::{Replica, Task};

use self::chunks::channel;
use self::pages::Pages;
use self::reading::Reading;
use super::PostgresStore;
use super::readers::Readers;
use crate::{Error, EventStream, Events, Query, ReadOptions};

impl PostgresStore {
    pub(super) async fn stream(
        &self,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        let open = |readers, replica| async move {
            self.check_hidden_after(readers, query, options).await?;
            self.stream_from(readers, replica, query, options).await
        };
        self.shared.readers.open(open).await
    }

    async fn stream_from(
        &self,
        readers: &Readers,
        replica: Option<&Arc<Replica<Readers>>>,
        query: &Query,
        options: ReadOptions,
    ) -> Result<EventStream, Error> {
        match self.read_coalesced(readers, query, options).await {
            Ok(Some(Events { events, head })) => {
                return Ok(EventStream::new(head, stream::iter(events).map(Ok)));
            }
            Ok(None) => {}
            // The first page below reads again, on another connection.
            Err(failed) if failed.is_transient() => {}
            Err(failed) => return Err(failed),
        }
        let (consumer, mut chunks) = channel();
        let reading = Reading {
            readers: readers.clone(),
            replica: replica
                .map(|replica| (Arc::clone(replica), self.shared.readers.primary().clone())),
            statements: Arc::clone(&self.shared.statements),
            query: query.clone(),
            pages: Pages::new(options),
            consumer,
        };
        // Dropped with the stream, which ends it.
        let task = Task::start(reading.run());
        let first = chunks.next().await?;
        let head = first.head;
        let rest = stream::poll_fn(move |cx| {
            let _task = &task;
            chunks.poll_next(cx)
        });
        let events = stream::once(std::future::ready(Ok(first)))
            .chain(rest)
            .map_ok(|chunk| stream::iter(chunk.events).map(Ok))
            .try_flatten();
        Ok(EventStream::new(head, events))
    }
}
