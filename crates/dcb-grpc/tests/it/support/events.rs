use dcb_grpc::proto::error_response::ErrorType;
use dcb_grpc::proto::{
    AppendCondition, AppendRequest, ErrorResponse, Event, MetadataEntry, Query, QueryItem,
};
use prost::Message as _;
use tonic::Status;

pub(crate) fn event(event_type: &str, tags: &[&str]) -> Event {
    Event {
        event_type: event_type.to_owned(),
        tags: tags.iter().copied().map(str::to_owned).collect(),
        data: b"{}".to_vec(),
        uuid: String::new(),
        metadata: vec![MetadataEntry {
            key: "by".to_owned(),
            value: "a test".to_owned(),
        }],
    }
}

/// An event of the tag `course:1` with this id.
pub(crate) fn with_id(id: u128) -> Event {
    Event {
        uuid: uuid::Uuid::from_u128(id).to_string(),
        ..event("Enrolled", &["course:1"])
    }
}

/// One event or several.
pub(crate) trait Events {
    fn list(self) -> Vec<Event>;
}

impl Events for Event {
    fn list(self) -> Vec<Event> {
        vec![self]
    }
}

impl Events for Vec<Event> {
    fn list(self) -> Vec<Event> {
        self
    }
}

impl<const N: usize> Events for [Event; N] {
    fn list(self) -> Vec<Event> {
        self.into()
    }
}

pub(crate) fn append(events: impl Events) -> AppendRequest {
    AppendRequest {
        events: events.list(),
        condition: None,
        tracking_info: None,
    }
}

/// Every event.
pub(crate) fn all() -> Query {
    Query { items: Vec::new() }
}

/// The events of these types that have these tags.
pub(crate) fn query(types: &[&str], tags: &[&str]) -> Query {
    let owned = |texts: &[&str]| texts.iter().copied().map(str::to_owned).collect();
    Query {
        items: vec![QueryItem {
            types: owned(types),
            tags: owned(tags),
        }],
    }
}

/// The events with this tag.
pub(crate) fn tagged(tag: &str) -> Query {
    query(&[], &[tag])
}

pub(crate) fn condition(query: Query, after: Option<u64>) -> Option<AppendCondition> {
    Some(AppendCondition {
        fail_if_events_match: Some(query),
        after,
    })
}

/// The kind of error that the details of a status name.
pub(crate) fn error_type(status: &Status) -> ErrorType {
    let details = ErrorResponse::decode(status.details()).unwrap();
    assert_eq!(details.message, status.message());
    details.error_type()
}
