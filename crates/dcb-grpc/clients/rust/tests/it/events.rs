use std::fmt::Debug;

use umadb_dcb::{
    DcbAppendCondition, DcbError, DcbEvent, DcbQuery, DcbQueryItem, DcbResult, DcbSequencedEvent,
};
use uuid::Uuid;

pub(crate) fn made(tags: &[&str]) -> DcbEvent {
    DcbEvent::new()
        .event_type("Made")
        .tags(tags.iter().copied())
        .data(*b"data")
        .metadata_entry("by", "a test")
}

/// An event with an id, so that its append can be repeated.
pub(crate) fn known(tags: &[&str]) -> DcbEvent {
    made(tags).uuid(Uuid::new_v4())
}

/// The events with this tag.
pub(crate) fn tagged(tag: &str) -> DcbQuery {
    DcbQuery::new().item(DcbQueryItem::new().tags([tag]))
}

/// That no event with this tag comes after a position.
pub(crate) fn none(tag: &str, after: Option<u64>) -> Option<DcbAppendCondition> {
    Some(DcbAppendCondition::new(tagged(tag)).after(after))
}

pub(crate) fn positions(events: &[DcbSequencedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.position).collect()
}

/// Whether an append went through. An error other than a refusal for integrity fails the test.
pub(crate) fn holds<T: Debug>(answer: &DcbResult<T>) -> bool {
    match answer {
        Ok(_) => true,
        Err(DcbError::IntegrityError(_)) => false,
        Err(other) => panic!("{other:?}"),
    }
}
