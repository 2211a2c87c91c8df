//! `Append`, with the meaning that UmaDB gives it.
//!
//! | | UmaDB | the store | here |
//! |---|---|---|---|
//! | `after` beyond the head | nothing matches there | refused | the append is sent again with the head as `after` |
//! | the first matches are the events of the append, by id | their last position | the positions of equal events, whether they match or not | UmaDB's answer; without a match, the store's |
//! | no events | position 0 | refused | position 0 |

use dcb_core::{
    Append, Bookmark, Error, Event, EventStore, Position, Query, ReadOptions, Tracking,
};
use tonic::Status;
use uuid::Uuid;

use crate::error::{refused, status};
use crate::proto::error_response::ErrorType;
use crate::proto::{AppendCondition, AppendRequest};
use crate::wire;

/// A condition as its sender meant it.
struct Condition {
    query: Query,
    after: Option<Position>,
}

/// A checked request.
struct Checked {
    events: Vec<Event>,
    condition: Option<Condition>,
    tracking: Option<Tracking>,
}

/// Appends the events, and returns the position of the last one.
pub(crate) async fn append<S: EventStore>(
    store: &S,
    request: AppendRequest,
) -> Result<u64, Status> {
    let checked = check(request)?;
    match checked.events.is_empty() {
        true => append_nothing(store, &checked).await,
        false => append_events(store, &checked).await,
    }
}

fn check(request: AppendRequest) -> Result<Checked, Status> {
    let tracking = request.tracking_info.map(wire::tracked).transpose()?;
    let events = request.events.into_iter();
    let events: Result<_, _> = events
        .map(|event| wire::event(event, tracking.as_ref()))
        .collect();
    Ok(Checked {
        events: events?,
        condition: request.condition.map(condition).transpose()?,
        tracking,
    })
}

fn condition(condition: AppendCondition) -> Result<Condition, Status> {
    if condition.after == Some(u64::MAX) {
        let reason = "condition.after is the greatest number, so no position comes after it";
        return Err(refused(ErrorType::InvalidArgument, reason));
    }
    Ok(Condition {
        query: wire::query(condition.fail_if_events_match)?,
        after: condition.after.and_then(Position::new),
    })
}

async fn append_events<S: EventStore>(store: &S, checked: &Checked) -> Result<u64, Status> {
    let wanted = checked.condition.as_ref().and_then(|given| given.after);
    let mut after = wanted;
    loop {
        match store.submit(submission(checked, after)).await {
            Ok(appended) => {
                let last = appended.last().get();
                return match &checked.condition {
                    Some(condition) if appended.is_found() => {
                        repeated(store, checked, condition, Ok(last)).await
                    }
                    _ => Ok(last),
                };
            }
            // The sender ignores all events up to `wanted`, also those that others append meanwhile.
            Err(Error::AfterBeyondHead { head, .. }) if wanted > head => after = head,
            Err(Error::Conflict { position, .. }) if Some(position) <= wanted => {
                after = Some(position);
            }
            Err(error @ Error::DuplicateId { .. }) => {
                let refusal = Err(status(&error));
                return match &checked.condition {
                    Some(condition) => repeated(store, checked, condition, refusal).await,
                    None => refusal,
                };
            }
            Err(error) => return Err(status(&error)),
        }
    }
}

fn submission(checked: &Checked, after: Option<Position>) -> Append {
    let mut append = Append::new(checked.events.clone());
    if let Some(Condition { query, .. }) = &checked.condition {
        let condition = dcb_core::AppendCondition::fail_if(query.clone());
        append = append.condition(condition.after(after.map(Bookmark::from)));
    }
    match &checked.tracking {
        Some(tracking) => append.tracking(tracking.clone()),
        None => append,
    }
}

/// The answer to an append with ids that the log has. If the condition matches, its first matches
/// must be the events of the append; if it does not, the answer is the store's.
async fn repeated<S: EventStore>(
    store: &S,
    checked: &Checked,
    condition: &Condition,
    unmatched: Result<u64, Status>,
) -> Result<u64, Status> {
    let found = matches(store, condition, checked.events.len() as u64).await?;
    let Some(&(last, _)) = found.last() else {
        return unmatched;
    };
    let ids: Option<Vec<Uuid>> = checked.events.iter().map(Event::id).collect();
    match ids == Some(found.iter().map(|&(_, id)| id).collect()) {
        true => Ok(last.get()),
        false => Err(violated(&found)),
    }
}

/// An append without events: the condition counts, and position 0 is the answer.
async fn append_nothing<S: EventStore>(store: &S, checked: &Checked) -> Result<u64, Status> {
    if checked.tracking.is_some() {
        let reason = "tracking_info without events: the store tracks a position with its events";
        return Err(refused(ErrorType::InvalidArgument, reason));
    }
    if let Some(condition) = &checked.condition {
        let found = matches(store, condition, 1).await?;
        if !found.is_empty() {
            return Err(violated(&found));
        }
    }
    Ok(0)
}

/// The first events that violate the condition.
async fn matches<S: EventStore>(
    store: &S,
    condition: &Condition,
    limit: u64,
) -> Result<Vec<(Position, Uuid)>, Status> {
    // `from`, because a read may begin beyond the head with it.
    let first = condition.after.map(Position::next);
    let options = ReadOptions::new().from(first).limit(limit);
    let found = store.query(&condition.query, options).await;
    let events = found.map_err(|error| status(&error))?.events;
    let found = events.iter().map(|event| (event.position(), event.id()));
    Ok(found.collect())
}

fn violated(found: &[(Position, Uuid)]) -> Status {
    let first = found.first().map(|&(position, _)| position);
    let position = Position::number_or_zero(first);
    let reason = format!("the event at position {position} matches the condition");
    refused(ErrorType::Integrity, reason)
}
