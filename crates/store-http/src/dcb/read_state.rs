use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Dcb;
use super::position::Mark;
use crate::error::ApiError;
use crate::input::Parameters;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StateParameters {
    key: String,
    at: String,
}

/// `GET /dcb/states`: the names of the projections.
pub(super) async fn list(State(dcb): State<Arc<Dcb>>) -> Json<Value> {
    Json(dcb.options.states.names().collect())
}

/// `GET /dcb/states/{name}`: the state of a key at a position.
pub(super) async fn read_state(
    State(dcb): State<Arc<Dcb>>,
    Path(name): Path<String>,
    Parameters(StateParameters { key, at }): Parameters<StateParameters>,
) -> Result<Json<Value>, ApiError> {
    if key.is_empty() {
        return Err(ApiError::invalid_field("key", "key is missing"));
    }
    let at = match at.as_str() {
        "" => None,
        at => Some(Mark::parse("at", at)?.position()),
    };
    let states = &dcb.options.states;
    let found = states.state(&name, dcb.events.clone(), key, at).await?;
    let mut answer = json!({
        "position": found.position.map_or(0, |position| position.get()),
        "numberOfEvents": found.events,
        "state": found.state,
    });
    for (name, position) in [("lastPosition", found.last), ("nextPosition", found.next)] {
        if let Some(position) = position {
            answer[name] = position.get().into();
        }
    }
    Ok(Json(answer))
}
