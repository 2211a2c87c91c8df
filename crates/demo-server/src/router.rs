use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use store_http::{ApiError, Service, dcb, explorer, messages, render, series};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::app::App;
use crate::auth::Tokens;
use crate::settings::Settings;
use crate::stores::Stores;
use crate::{auth, health, observe, openapi, page, test_data};

/// Shorter answers fit into one packet anyway.
const MIN_COMPRESSED: u16 = 1024;

/// All interfaces behind the layers that every request passes, from the outside in: compression,
/// counters, error rendering, limits, tokens. The counters must see every response, and errors of the limits and
/// the token check must be rendered too. Tests: `tests/it/observe.rs` and `tests/it/server.rs`.
pub fn router(app: &App) -> Router {
    let state = || app.clone();
    let settings: Arc<Settings> = app.part();
    let service: Service = app.part();
    let opened = middleware::from_fn_with_state(state(), opened);
    Router::<App>::new()
        .merge(health::routes())
        .merge(observe::routes())
        .merge(openapi::routes())
        .merge(page::routes())
        .merge(test_data::routes())
        .with_state(state())
        .nest(
            "/dcb",
            dcb::router(app.part(), settings.of_events(), &service),
        )
        .merge(messages::router(app.part(), &service))
        .merge(explorer::router())
        .merge(series::router(&app.part()).route_layer(opened))
        // The guard has already limited the body.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(state(), auth::check))
        .layer(middleware::from_fn_with_state(state(), admit))
        .layer(middleware::from_fn(render))
        .layer(middleware::from_fn_with_state(state(), observe::record))
        .layer(compression())
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
    State(service): State<Service>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    auth::screen(&tokens, &request)?;
    service.admit(request, next).await
}

/// Answers 503 with the cause if the files of the series could not be opened.
async fn opened(State(stores): State<Arc<Stores>>, request: Request, next: Next) -> Response {
    match &stores.series_failed {
        // InfluxDB's clients ask `/ping` whether the server is there.
        Some(failed) if request.uri().path() != "/ping" => not_opened(failed).into_response(),
        _ => next.run(request).await,
    }
}

/// The error for series that could not be opened.
fn not_opened(error: &tsdb::Error) -> ApiError {
    let next = match error {
        tsdb::Error::Corrupt { .. } => {
            "; stop the server and run `demo-server series check`, then `demo-server series repair`"
        }
        _ => "",
    };
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "SERIES_NOT_OPEN",
        format!("the series could not be opened: {error}{next}"),
    )
}
