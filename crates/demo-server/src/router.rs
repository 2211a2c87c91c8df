use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::any;
use axum::{Router, middleware};

use crate::app::App;
use crate::{auth, dcb, error, guard, health, messages, observe, openapi, page, series};

/// All interfaces, behind what every request passes: from outside in, the counters, the form of
/// errors, the bounds, the tokens.
pub fn router(app: &Arc<App>) -> Router {
    let state = || Arc::clone(app);
    Router::new()
        .route("/health", any(health::ok))
        .merge(observe::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .nest("/dcb", dcb::routes())
        .merge(messages::routes())
        .merge(series::routes())
        // The guard has bounded the body already.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(state(), auth::check))
        .layer(middleware::from_fn_with_state(state(), guard::admit))
        .layer(middleware::from_fn(error::render))
        .layer(middleware::from_fn_with_state(state(), observe::record))
        .with_state(state())
}
