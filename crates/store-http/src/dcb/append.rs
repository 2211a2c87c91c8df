use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use dcb_core::{Append, AppendCondition, Error, Event, EventStore as _};
use serde::Deserialize;

use super::Dcb;
use super::event::OneOrMore;
use super::json::{micros_since, response};
use super::position::{EventId, Place};
use super::query::QueryDto;
use crate::error::ApiError;
use crate::input::{Object, parse};

/// Maximum number of tags over all events of an append. Each tag is an index entry, written while
/// the log is locked.
const MAX_TAGS: usize = 20_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AppendRequest<'a> {
    #[serde(borrow)]
    events: OneOrMore<'a>,
    /// `/dcb/project` answers a condition by the second name.
    #[serde(alias = "appendCondition")]
    condition: Option<Object<ConditionDto>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ConditionDto {
    fail_if_events_match: Object<QueryDto>,
    after: Option<Place>,
    /// The id of the event at `after`, as `/dcb/project` answers it.
    after_event_id: Option<EventId>,
}

impl AppendRequest<'_> {
    fn into_append(self) -> Result<Append, ApiError> {
        let OneOrMore(events) = self.events;
        let tags: usize = events.iter().map(|event| event.tag_count()).sum();
        // The store limits tags per event only.
        if tags > MAX_TAGS {
            let message = format!("events has {tags} tags; the maximum is {MAX_TAGS}");
            return Err(ApiError::invalid_field("events", message));
        }
        let events: Result<Vec<Event>, ApiError> = events
            .into_iter()
            .enumerate()
            .map(|(index, event)| event.into_event(|| format!("events[{index}]")))
            .collect();
        let append = Append::new(events?);
        Ok(match self.condition {
            Some(Object(condition)) => append.condition(condition.into_condition()),
            None => append,
        })
    }
}

impl ConditionDto {
    fn into_condition(self) -> AppendCondition {
        let query = self.fail_if_events_match.0.into_query();
        let after = self
            .after
            .and_then(|after| after.bookmark(self.after_event_id));
        AppendCondition::fail_if(query).after(after)
    }
}

/// `POST /dcb/append`. Ignores the header `X-Append-If-Isolation`: every condition is always
/// checked at the strictest level.
pub(super) async fn append(State(dcb): State<Arc<Dcb>>, body: Bytes) -> Result<Response, ApiError> {
    let start = Instant::now();
    let append = parse::<AppendRequest<'_>>(&body)?.into_append()?;
    let submitted = dcb.events.submit(append).await;
    dcb.service.watch.wrote_events(submitted.as_ref().err());
    let appended = match submitted {
        Ok(appended) => Some(appended),
        // A failed condition is a normal result in this interface, not an HTTP error.
        Err(Error::Conflict { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let (micros, failed) = (micros_since(start), appended.is_none());
    let positions = appended.map_or(String::new(), |appended| {
        let (first, last) = (appended.first(), appended.last());
        format!(r#","firstPosition":{first},"lastPosition":{last}"#)
    });
    Ok(response(format!(
        r#"{{"durationInMicroseconds":{micros},"appendConditionFailed":{failed}{positions}}}"#
    )))
}
