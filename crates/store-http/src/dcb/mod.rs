//! Events over HTTP, under `/dcb`.

mod append;
mod cleanup;
mod error;
mod event;
mod feed;
mod json;
mod position;
mod project;
mod query;
mod read;
mod read_events;
mod read_state;
mod states;
mod subscribe;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use dcb_core::AnyStore;

use crate::input::no_parameters;
use crate::service::Service;

pub use states::States;

/// The requests that the router of events allows, and the projections that it shows.
#[derive(Clone, Debug)]
pub struct Options {
    /// The text of the 403 that `POST /cleanup`, which deletes all events, answers. `None` allows it.
    pub cleanup_refused: Option<&'static str>,
    /// The projections of `GET /states`, which the explorer shows.
    pub states: States,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cleanup_refused: Some("clearing the log is disabled"),
            states: States::new(),
        }
    }
}

/// The state of the router.
struct Dcb {
    events: AnyStore,
    options: Options,
    service: Service,
}

/// The paths of the events in this store, to be nested under `/dcb`.
pub fn router(events: AnyStore, options: Options, service: &Service) -> Router {
    let state = Arc::new(Dcb {
        events,
        options,
        service: service.clone(),
    });
    Router::new()
        .route("/cleanup", post(cleanup::cleanup))
        .route("/append", post(append::append))
        .route("/read", post(read::read))
        .route("/project", post(project::project))
        .route("/states", get(read_state::list))
        .route_layer(no_parameters())
        .route("/states/{name}", get(read_state::read_state))
        .route("/read", get(read_events::read_events))
        .route("/subscribe", get(subscribe::subscribe))
        .with_state(state)
}
