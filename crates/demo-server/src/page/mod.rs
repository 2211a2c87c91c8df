//! The live page: its files and its API.

mod board;
mod enroll;
mod files;
mod race;
mod rush;

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::ApiError;

pub(crate) fn routes() -> Router<Arc<App>> {
    // Only one route uses it, so it is not part of `App`.
    let start = Arc::new(rush::Start::default());
    Router::new()
        .route("/", get(files::index))
        .route("/page/{file}", get(files::file))
        .route("/demo/state", get(board::state))
        .route("/demo/courses", post(board::offer))
        .route("/demo/enroll", post(enroll::by_hand))
        .route(
            "/demo/rush",
            post(move |app, body| rush::run(app, Arc::clone(&start), body)),
        )
}

/// Parses the body. Errors name the field.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|failed| ApiError::invalid(format!("body: {failed}")))
}
