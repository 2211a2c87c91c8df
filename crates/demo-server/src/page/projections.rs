//! The sliced projections whose tables are in the events' database.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use dcb_core::{Bookmark, EventStore as _, Position, ProjectionState, ProjectionStatus};
use serde::Serialize;

use crate::stores::Stores;
use store_http::ApiError;

/// All versions of all projections, and the head of the log that they follow.
#[derive(Debug, Serialize)]
pub(super) struct Projections {
    head: u64,
    projections: Vec<Version>,
}

#[derive(Debug, Serialize)]
struct Version {
    name: String,
    version: u32,
    state: &'static str,
    slices: u32,
    members: u32,
    /// All slices have handled the events up to here.
    position: u64,
    parked: u64,
    stopped: Vec<Stopped>,
}

#[derive(Debug, Serialize)]
struct Stopped {
    slice: u32,
    error: String,
}

impl From<ProjectionStatus> for Version {
    fn from(of: ProjectionStatus) -> Self {
        let stopped = of.stopped.into_iter();
        Self {
            name: of.name,
            version: of.version,
            state: match of.state {
                ProjectionState::Current => "current",
                ProjectionState::Retired => "retired",
                _ => "building",
            },
            slices: of.slices,
            members: of.members,
            position: Position::number_or_zero(of.position),
            parked: of.parked,
            stopped: stopped
                .map(|(slice, error)| Stopped { slice, error })
                .collect(),
        }
    }
}

/// `GET /demo/projections`.
pub(super) async fn list(State(stores): State<Arc<Stores>>) -> Result<Json<Projections>, ApiError> {
    // Read first, so that no position is beyond it for long.
    let head = stores.events.head().await?;
    let projections = match &stores.projections {
        Some(projections) => projections.lock().await.list().await?,
        None => Vec::new(),
    };
    Ok(Json(Projections {
        head: Position::number_or_zero(Bookmark::position_of(head)),
        projections: projections.into_iter().map(Version::from).collect(),
    }))
}
