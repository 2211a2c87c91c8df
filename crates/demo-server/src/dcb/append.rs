use std::time::Instant;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use dcb_core::{Append, AppendCondition, Error, Event, EventStore as _};
use serde::Deserialize;

use super::event::OneOrMore;
use super::json::{micros_since, parse, response};
use super::position::Mark;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::stores::Events;

/// Maximum number of tags over all events of an append. Each tag is an index entry, written while
/// the log is locked.
const MAX_TAGS: usize = 20_000;

#[derive(Debug, Deserialize)]
struct AppendRequest<'a> {
    #[serde(borrow)]
    events: OneOrMore<'a>,
    condition: Option<ConditionDto>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConditionDto {
    fail_if_events_match: QueryDto,
    after: Option<Mark>,
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
            Some(condition) => append.condition(condition.into_condition()?),
            None => append,
        })
    }
}

impl ConditionDto {
    fn into_condition(self) -> Result<AppendCondition, ApiError> {
        let path = "condition.failIfEventsMatch";
        let query = self.fail_if_events_match.into_query(path)?;
        let after = self.after.and_then(Mark::position);
        Ok(AppendCondition::fail_if(query).after(after))
    }
}

/// `POST /dcb/append`. Ignores the header `X-Append-If-Isolation`: every condition is always
/// checked at the strictest level.
pub(super) async fn append(
    State(events): State<Events>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let start = Instant::now();
    let append = parse::<AppendRequest<'_>>(&body)?.into_append()?;
    let failed = match events.submit(append).await {
        // A failed condition is a normal result in this interface, not an HTTP error.
        Ok(_) => false,
        Err(Error::Conflict { .. }) => true,
        Err(error) => return Err(error.into()),
    };
    let micros = micros_since(start);
    Ok(response(format!(
        r#"{{"durationInMicroseconds":{micros},"appendConditionFailed":{failed}}}"#
    )))
}
