//! The live page: its files and its API.

mod board;
mod enroll;
mod files;
mod projections;
mod race;
mod rush;
mod states;
mod warm;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};

use crate::health::Health;
use crate::stores::{Events, Stores};
use store_http::input::no_parameters;

pub(crate) use states::states;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Events: FromRef<S>,
    Arc<Health>: FromRef<S>,
    Arc<Stores>: FromRef<S>,
{
    // Only one route uses each, so they are not part of the state.
    let start = Arc::new(rush::Start::default());
    let start_of_sales = Arc::new(warm::Start::default());
    Router::new()
        .route("/demo/state", get(board::state))
        .route("/demo/projections", get(projections::list))
        .route("/demo/courses", post(board::offer))
        .route("/demo/enroll", post(enroll::by_hand))
        .route(
            "/demo/rush",
            post(move |events, body| rush::run(events, Arc::clone(&start), body)),
        )
        .route(
            "/demo/decisions",
            post(move |events, body| warm::run(events, Arc::clone(&start_of_sales), body)),
        )
        .route_layer(no_parameters())
        .route("/", get(files::index))
        .route("/page/{file}", get(files::file))
}
