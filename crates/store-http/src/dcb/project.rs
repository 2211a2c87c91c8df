use std::collections::HashSet;
use std::io::Write as _;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use dcb_core::{AnyStore, Bookmark, Error, EventStore as _, Projector, Query, ReadOptions};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Dcb;
use super::json::{micros_since, response, write_json};
use super::position::Place;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::input::{Object, parse};

/// Maximum number of projectors in a request. The server runs each over every event that it reads.
const MAX_PROJECTORS: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectRequest<'a> {
    #[serde(borrow)]
    projectors: Vec<Object<ProjectorDto<'a>>>,
    after: Option<Place>,
}

/// A projector. The server only counts events; `transitionFunction` is ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProjectorDto<'a> {
    id: String,
    query: Object<QueryDto>,
    #[serde(borrow)]
    initial_state: Option<&'a RawValue>,
    #[serde(rename = "transitionFunction")]
    _transition_function: Option<String>,
}

/// The counts of all projectors, and the last event that they include.
struct Counted {
    counts: Vec<u64>,
    boundary: Query,
    through: Option<Bookmark>,
}

/// `POST /dcb/project`.
pub(super) async fn project(
    State(dcb): State<Arc<Dcb>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    let start = Instant::now();
    let mut request: ProjectRequest<'_> = parse(&body)?;
    let queries = queries(&mut request.projectors)?;
    let after = request.after.and_then(|after| after.bookmark(None));
    let counted = count(&dcb.events, queries, after).await?;
    let micros = micros_since(start);
    Ok(response(answer(&request.projectors, &counted, micros)))
}

/// Checks the projectors and returns their queries.
fn queries(projectors: &mut [Object<ProjectorDto<'_>>]) -> Result<Vec<Query>, ApiError> {
    let invalid = |field: &str, problem: String| {
        Err(ApiError::invalid_field(field, format!("{field} {problem}")))
    };
    let actual = projectors.len();
    if actual == 0 {
        return invalid("projectors", "must not be empty".to_owned());
    }
    if actual > MAX_PROJECTORS {
        let problem = format!("has {actual} entries; the maximum is {MAX_PROJECTORS}");
        return invalid("projectors", problem);
    }
    let mut queries = Vec::with_capacity(actual);
    for Object(projector) in projectors.iter_mut() {
        // Moves the query out. The response needs only the ids and initial states.
        queries.push(std::mem::take(&mut projector.query).0.into_query());
    }
    let mut ids = HashSet::new();
    for (index, Object(projector)) in projectors.iter().enumerate() {
        if !ids.insert(&projector.id) {
            let problem = "is also the id of another projector".to_owned();
            return invalid(&format!("projectors[{index}].id"), problem);
        }
    }
    let items: usize = queries.iter().map(|query| query.items().len()).sum();
    if items > Query::MAX_ITEMS {
        let max = Query::MAX_ITEMS;
        let problem = format!("has {items} items over all queries; the maximum is {max}");
        return invalid("projectors", problem);
    }
    Ok(queries)
}

/// Counts the events after `after` for all projectors, in one snapshot.
async fn count(
    events: &AnyStore,
    mut queries: Vec<Query>,
    after: Option<Bookmark>,
) -> Result<Counted, ApiError> {
    // For a single query, the store counts the events in its index and does not read them.
    if queries.len() == 1
        && let Some(query) = queries.pop()
    {
        check(events, after).await?;
        let past = after.map_or(Bound::Unbounded, |after| Bound::Excluded(after.position));
        let extent = events.extent(&query, (past, Bound::Unbounded)).await?;
        return Ok(Counted {
            counts: vec![extent.count],
            boundary: query,
            through: later(extent.head, after),
        });
    }
    let boundary = queries.iter().cloned().reduce(Query::or);
    let projectors: Vec<_> = queries.into_iter().map(Projector::counter).collect();
    let projection = match events.project_stream(&projectors, after).await {
        Ok(projection) => projection,
        // The log ends before `after`, so there is nothing to count. The condition keeps `after`,
        // so that an append with this condition fails.
        Err(Error::AfterBeyondHead { .. }) => {
            return Ok(Counted {
                counts: vec![0; projectors.len()],
                boundary: boundary.unwrap_or_else(Query::all),
                through: after,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let projected = projection.finish().await?;
    Ok(Counted {
        counts: projected.state,
        boundary: projected.condition.fail_if_events_match,
        through: projected.condition.after,
    })
}

/// Refuses a place whose event the log has lost. A count of positions would not notice it.
async fn check(events: &AnyStore, after: Option<Bookmark>) -> Result<(), Error> {
    let nothing = ReadOptions::new().after(after).limit(0);
    if after.is_none_or(|after| after.event_id.is_none()) {
        return Ok(());
    }
    match events.query(&Query::all(), nothing).await {
        // Nothing to count, see `count`.
        Ok(_) | Err(Error::AfterBeyondHead { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The one at the greater position.
fn later(head: Option<Bookmark>, after: Option<Bookmark>) -> Option<Bookmark> {
    match Bookmark::position_of(head) >= Bookmark::position_of(after) {
        true => head,
        false => after,
    }
}

fn answer(projectors: &[Object<ProjectorDto<'_>>], counted: &Counted, micros: u128) -> Vec<u8> {
    let mut out = format!(r#"{{"durationInMicroseconds":{micros},"states":{{"#).into_bytes();
    for (index, (Object(projector), &count)) in projectors.iter().zip(&counted.counts).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_json(&projector.id, &mut out);
        out.push(b':');
        match (count, projector.initial_state) {
            (0, Some(initial)) => out.extend_from_slice(initial.get().as_bytes()),
            (0, None) => out.extend_from_slice(b"null"),
            (count, _) => write!(out, "{count}").expect("writing to memory can't fail"),
        }
    }
    out.extend_from_slice(br#"},"appendCondition":{"failIfEventsMatch":"#);
    write_json(&counted.boundary, &mut out);
    if let Some(Bookmark { position, event_id }) = counted.through {
        write!(out, r#","after":"{position}""#).expect("writing to memory can't fail");
        if let Some(id) = event_id {
            write!(out, r#","afterEventId":"{id}""#).expect("writing to memory can't fail");
        }
    }
    out.extend_from_slice(b"}}");
    out
}
