//! Values of the wire as values of the store, and back.

use dcb_core::{Event, EventType, Position, Query, QueryItem, SequencedEvent, Tag, Tracking};
use tonic::Status;
use uuid::Uuid;

use crate::error::{refused, status};
use crate::extras::{self, Sent};
use crate::proto;
use crate::proto::error_response::ErrorType;

/// The most bytes that the name of a source has.
const MAX_SOURCE_BYTES: usize = 255;
/// Page sizes in events: the default, and the largest.
const PAGE: u32 = 1024;
const MAX_PAGE: u32 = 4096;

pub(crate) fn query(query: Option<proto::Query>) -> Result<Query, Status> {
    let items = query.map_or(Vec::new(), |query| query.items);
    if items.is_empty() {
        return Ok(Query::all());
    }
    let items: Result<Vec<QueryItem>, Status> = items.into_iter().map(item).collect();
    Query::new(items?).map_err(|error| status(&error))
}

fn item(item: proto::QueryItem) -> Result<QueryItem, Status> {
    let types: Result<Vec<_>, _> = item.types.into_iter().map(EventType::new).collect();
    let tags: Result<Vec<_>, _> = item.tags.into_iter().map(Tag::new).collect();
    let (types, tags) = (
        types.map_err(|error| status(&error))?,
        tags.map_err(|error| status(&error))?,
    );
    Ok(QueryItem::new(types, tags))
}

/// The number of events in a page.
pub(crate) fn page(batch_size: Option<u32>) -> usize {
    batch_size.unwrap_or(PAGE).clamp(1, MAX_PAGE) as usize
}

pub(crate) fn tracked(info: proto::TrackingInfo) -> Result<Tracking, Status> {
    let bytes = info.source.len();
    if bytes > MAX_SOURCE_BYTES {
        let reason = format!("tracking.source has {bytes} bytes, {MAX_SOURCE_BYTES} are allowed");
        return Err(refused(ErrorType::InvalidArgument, reason));
    }
    Tracking::new(info.source, info.position).map_err(|error| status(&error))
}

/// The id in a text. An empty text and the nil UUID, which libraries send for none, are no id.
fn id(text: &str) -> Result<Option<Uuid>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let id = Uuid::try_parse(text).map_err(|_| {
        let reason = format!("uuid is malformed: expected a UUID, got {text:?}");
        refused(ErrorType::Corruption, reason)
    })?;
    Ok(Some(id).filter(|id| !id.is_nil()))
}

/// An event to append, with the upstream position of its append.
pub(crate) fn event(event: proto::Event, tracking: Option<&Tracking>) -> Result<Event, Status> {
    let order = extras::tags_entry(&event.tags);
    let extras = order
        .into_iter()
        .chain(tracking.map(extras::tracking_entry));
    let mut builder = Event::builder(event.event_type)
        .tags(event.tags)
        .data(event.data);
    if let Some(id) = id(&event.uuid)? {
        builder = builder.id(id);
    }
    for proto::MetadataEntry { key, value } in event.metadata {
        if extras::is_reserved(&key) {
            let reason = format!("metadata has the key {key}, which the server uses");
            return Err(refused(ErrorType::InvalidArgument, reason));
        }
        builder = builder.metadata(key, value);
    }
    for (key, value) in extras {
        builder = builder.metadata(key, value);
    }
    builder.build().map_err(|error| status(&error))
}

pub(crate) fn sequenced(event: &SequencedEvent) -> proto::SequencedEvent {
    let sent = Sent::of(event.tags(), event.metadata());
    proto::SequencedEvent {
        position: event.position().get(),
        event: Some(proto::Event {
            event_type: event.event_type().to_owned(),
            tags: sent.tags,
            data: event.data().to_vec(),
            uuid: event.id().to_string(),
            metadata: sent.metadata,
        }),
        tracking_info: sent.tracking_info,
    }
}

/// The number of a position, as responses have it.
pub(crate) fn number(position: Option<Position>) -> Option<u64> {
    position.map(Position::get)
}
