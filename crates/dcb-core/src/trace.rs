//! The trace in which an event is appended: it goes into the metadata, and on to what handles the event.

use store_meter::trace;
use tracing::Span;

use crate::{Event, SequencedEvent};

/// The events with the trace of the current span. An event that brings its trace keeps it. One that
/// brings its time was recorded by another log, so it stays as that log has it.
pub(crate) fn stamped(mut events: Vec<Event>) -> Vec<Event> {
    if let Some(trace) = trace::current() {
        let own = |event: &&mut Event| {
            event.recorded_at().is_none() && event.metadata_value(Event::TRACEPARENT).is_none()
        };
        let stamped = events.iter_mut().filter(own);
        stamped.for_each(|event| event.add_metadata(Event::TRACEPARENT, &trace));
    }
    events
}

/// A span for the work on these events, in the traces in which they were appended. It is
///
/// - a child of the span of the append, if all events are of one trace;
/// - else the root of a new trace.
///
/// It has links to the spans of the other appends, at most 128. Without events that have a trace it is
/// disabled. The runners use such spans themselves; a reader of a
/// [`Subscription`](crate::Subscription) calls this:
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), dcb_core::Error> {
/// use dcb_core::{Event, EventStore, MemoryStore, Query, SubscribeOptions, span_of};
/// use tracing::Instrument;
///
/// let store = MemoryStore::new();
/// store.append(Event::builder("OrderPlaced").build()?).await?;
/// let mut orders = store.subscribe(Query::all(), None, SubscribeOptions::new());
/// if let Some(batch) = orders.next_batch().await {
///     let events = batch?.events;
///     let span = span_of("send mail", &events);
///     async { /* send mail */ }.instrument(span).await;
/// }
/// # Ok(()) }
/// ```
pub fn span_of(name: &'static str, events: &[SequencedEvent]) -> Span {
    let traces = events.iter();
    trace::span(
        name,
        traces.filter_map(|event| event.metadata_value(Event::TRACEPARENT)),
    )
}
