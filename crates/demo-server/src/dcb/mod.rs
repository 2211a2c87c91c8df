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
mod subscribe;
mod test_data;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use axum::routing::{any, get, post};

use crate::guard::Guard;
use crate::health::{self, Health};
use crate::input::no_parameters;
use crate::outbox::Outbox;
use crate::settings::Settings;
use crate::stores::Events;

pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Events: FromRef<S>,
    Arc<Guard>: FromRef<S>,
    Arc<Health>: FromRef<S>,
    Arc<Outbox>: FromRef<S>,
    Arc<Settings>: FromRef<S>,
{
    Router::new()
        .route("/cleanup", post(cleanup::cleanup))
        .route("/append", post(append::append))
        .route("/read", post(read::read))
        .route("/project", post(project::project))
        .route_layer(no_parameters())
        .route("/health", any(health::ok))
        .route("/read", get(read_events::read_events))
        .route("/subscribe", get(subscribe::subscribe))
        .route("/read-test-data", get(test_data::test_data))
        .route("/query-test-data", get(test_data::test_data))
        .route("/smart-test-data", get(test_data::test_data))
        .route("/benchmark-data", get(test_data::benchmark_data))
}
