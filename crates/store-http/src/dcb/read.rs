use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use dcb_core::{EventStore as _, Position};
use serde::Deserialize;

use super::Dcb;
use super::json::{micros_since, response};
use super::position::Mark;
use super::query::QueryDto;
use crate::error::ApiError;
use crate::input::{Object, parse};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadRequest {
    query: Object<QueryDto>,
    options: Option<Object<OptionsDto>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionsDto {
    from: Option<Mark>,
    backwards: Option<bool>,
}

impl OptionsDto {
    /// The range of positions: from `from` to the end, or backwards from `from`, inclusive.
    fn range(self) -> (Bound<Position>, Bound<Position>) {
        let backwards = self.backwards.unwrap_or(false);
        match (self.from.map(Mark::position), backwards) {
            (None | Some(None), false) | (None, true) => (Bound::Unbounded, Bound::Unbounded),
            (Some(Some(from)), false) => (Bound::Included(from), Bound::Unbounded),
            (Some(Some(from)), true) => (Bound::Unbounded, Bound::Included(from)),
            // 0 is before the first event, so there is nothing to read backwards.
            (Some(None), true) => (Bound::Unbounded, Bound::Excluded(Position::FIRST)),
        }
    }
}

/// `POST /dcb/read`: the number of matching events, and the position and bookmark of the last one.
pub(super) async fn read(State(dcb): State<Arc<Dcb>>, body: Bytes) -> Result<Response, ApiError> {
    let start = Instant::now();
    let request: ReadRequest = parse(&body)?;
    let query = request.query.0.into_query();
    let range = request.options.unwrap_or_default().0.range();
    let extent = dcb.events.extent(&query, range).await?;
    let checkpoint = extent.last.map_or(String::new(), |last| {
        let position = last.position;
        format!(r#","checkpointEventId":"{position}","checkpointBookmark":"{last}""#)
    });
    let (micros, count) = (micros_since(start), extent.count);
    Ok(response(format!(
        r#"{{"durationInMicroseconds":{micros},"numberOfMatchingEvents":{count}{checkpoint}}}"#
    )))
}
