//! The live page: its files and its API.

mod board;
mod enroll;
mod files;
mod race;
mod rush;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};

use crate::health::Health;
use crate::stores::Events;
use store_http::input::no_parameters;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Events: FromRef<S>,
    Arc<Health>: FromRef<S>,
{
    // Only one route uses it, so it is not part of the state.
    let start = Arc::new(rush::Start::default());
    Router::new()
        .route("/demo/state", get(board::state))
        .route("/demo/courses", post(board::offer))
        .route("/demo/enroll", post(enroll::by_hand))
        .route(
            "/demo/rush",
            post(move |events, body| rush::run(events, Arc::clone(&start), body)),
        )
        .route_layer(no_parameters())
        .route("/", get(files::index))
        .route("/page/{file}", get(files::file))
}
