//! The OpenAPI document of all interfaces, and a page to browse it.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::Map;

/// The `paths` and `schemas` of the server itself and of its page.
const PARTS: [&str; 2] = [
    include_str!("../openapi/server.json"),
    include_str!("../openapi/page.json"),
];

/// Takes the place of the script that comes with the page. It passes on the token of the page's URL.
const INITIALIZER: &str = include_str!("../openapi/initializer.js");

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    // Built once per router; a request only copies the text.
    let document = store_http::openapi::document(&PARTS).to_string();
    let json = move || async move {
        ([(header::CONTENT_TYPE, "application/json")], document).into_response()
    };
    let script = || async { ([(header::CONTENT_TYPE, "text/javascript")], INITIALIZER) };
    let config = utoipa_swagger_ui::Config::from("/openapi.json");
    Router::new()
        .route("/openapi.json", get(json))
        .route("/docs/swagger-initializer.js", get(script))
        .merge(utoipa_swagger_ui::SwaggerUi::new("/docs").config(config))
}

/// All path templates.
pub(crate) fn templates() -> Vec<String> {
    let document = store_http::openapi::document(&PARTS);
    let paths = document["paths"].as_object();
    paths.into_iter().flat_map(Map::keys).cloned().collect()
}
