use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::any;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::app::App;
use crate::auth::Tokens;
use crate::error::ApiError;
use crate::guard::Guard;
use crate::{auth, dcb, error, health, messages, observe, openapi, page, series};

/// Shorter answers fit into one packet anyway.
const MIN_COMPRESSED: u16 = 1024;

/// All interfaces behind the layers that every request passes, from the outside in: compression,
/// counters, error rendering, limits, tokens. The counters must see every response, and errors of the limits and
/// the token check must be rendered too. Tests: `tests/it/observe.rs` and `tests/it/server.rs`.
pub fn router(app: &App) -> Router {
    let state = || app.clone();
    Router::<App>::new()
        .route("/health", any(health::ok))
        .route("/livez", any(health::alive))
        .route("/readyz", any(health::ready))
        .merge(observe::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .nest("/dcb", dcb::routes())
        .merge(messages::routes())
        .merge(series::routes(&app.part()))
        // The guard has already limited the body.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(state(), auth::check))
        .layer(middleware::from_fn_with_state(state(), admit))
        .layer(middleware::from_fn(error::render))
        .layer(middleware::from_fn_with_state(state(), observe::record))
        .layer(compression())
        .with_state(state())
}

/// Compresses answers for clients that accept it. Event streams are excluded: the compressor would
/// hold events back until it has enough of them.
fn compression() -> CompressionLayer<impl Predicate> {
    let worthwhile = SizeAbove::new(MIN_COMPRESSED).and(NotForContentType::SSE);
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(worthwhile)
}

/// Screens the token before the guard reads the body.
async fn admit(
    State(tokens): State<Arc<Tokens>>,
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    auth::screen(&tokens, &request)?;
    guard.admit(request, next).await
}
