use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use axum::{Router, middleware};

use crate::app::App;
use crate::{auth, dcb, error, guard, health, messages, observe, openapi, page, series};

/// All interfaces behind the layers that every request passes, from the outside in: counters, error
/// rendering, limits, tokens. The counters must see every response, and errors of the limits and
/// the token check must be rendered too. Tests: `tests/it/observe.rs` and `tests/it/server.rs`.
pub fn router(app: &Arc<App>) -> Router {
    let state = || Arc::clone(app);
    Router::new()
        .route("/health", any(health::ok))
        .merge(observe::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .nest("/dcb", dcb::routes())
        .merge(messages::routes())
        .merge(series::routes(app))
        // The guard has already limited the body.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(state(), auth::check))
        .layer(middleware::from_fn_with_state(state(), guard::admit))
        .layer(middleware::from_fn(error::render))
        .layer(middleware::from_fn_with_state(state(), observe::record))
        .with_state(state())
}
