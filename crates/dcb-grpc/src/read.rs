//! `Read`: the events of one snapshot in pages.

use async_stream::try_stream;
use dcb_core::{EventStore, EventStream, Position, Query, ReadOptions};
use futures_core::Stream;
use tonic::Status;

use crate::credits::Piece;
use crate::error::{refused, status};
use crate::proto::error_response::ErrorType;
use crate::proto::{ReadRequest, ReadResponse};
use crate::wire;

/// A checked request.
pub(crate) struct Read {
    query: Query,
    options: ReadOptions,
    /// The number of events in a page.
    page: usize,
}

impl Read {
    pub(crate) fn check(request: ReadRequest) -> Result<Self, Status> {
        #[expect(deprecated, reason = "a client that sets it has to learn of Subscribe")]
        let subscribe = request.subscribe;
        if subscribe == Some(true) {
            let reason = "subscribe is not a part of Read any more: call Subscribe";
            return Err(refused(ErrorType::InvalidArgument, reason));
        }
        let mut options = ReadOptions::new()
            .from(request.start.and_then(Position::new))
            .limit(request.limit.map(u64::from));
        options.backwards = request.backwards == Some(true);
        if options.backwards && request.start == Some(0) {
            // No event is at position 0 or before.
            options = options.limit(0);
        }
        Ok(Self {
            query: wire::query(request.query)?,
            options,
            page: wire::page(request.batch_size),
        })
    }

    /// Opens the snapshot.
    pub(crate) async fn begin<S: EventStore>(&self, store: &S) -> Result<EventStream, Status> {
        let events = store.query_stream(&self.query, self.options).await;
        events.map_err(|error| status(&error))
    }
}

/// The messages of a read. `limit` is the sender's.
pub(crate) fn messages(
    read: &Read,
    limit: Option<u32>,
    mut events: EventStream,
    mut piece: Piece,
) -> impl Stream<Item = Result<ReadResponse, Status>> + Send + use<> {
    let page = read.page;
    // With a limit, a page tells how far it reaches; without one, what the log had.
    let snapshot = wire::number(events.head().map(|head| head.position));
    let head = move |last: Option<u64>| if limit.is_some() { last } else { snapshot };
    try_stream! {
        if limit == Some(0) {
            return;
        }
        let (mut in_page, mut is_first) = (0, true);
        piece.begin();
        while let Some(event) = events.next().await {
            let event = wire::sequenced(&event.map_err(|error| status(&error))?);
            if piece.is_full_for(&event) {
                // The page goes on, so this piece has no head.
                yield ReadResponse { events: piece.take(), head: None };
                piece.begin();
            }
            piece.push(event);
            in_page += 1;
            if in_page == page {
                let last = piece.last_position();
                yield ReadResponse { events: piece.take(), head: head(last) };
                piece.begin();
                (in_page, is_first) = (0, false);
            }
        }
        // A read that finds nothing still tells the head.
        if !piece.is_empty() || is_first {
            let last = piece.last_position();
            yield ReadResponse { events: piece.take(), head: head(last) };
        }
    }
}
