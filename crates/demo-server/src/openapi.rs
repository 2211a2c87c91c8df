//! The OpenAPI document of all interfaces, and a page to browse it.

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use serde_json::{Map, Value, json};

/// The `paths` and `schemas` of each interface.
const PARTS: [&str; 6] = [
    include_str!("../openapi/server.json"),
    include_str!("../openapi/dcb.json"),
    include_str!("../openapi/messages.json"),
    include_str!("../openapi/series.json"),
    include_str!("../openapi/prometheus.json"),
    include_str!("../openapi/page.json"),
];

/// Takes the place of the script that comes with the page. It passes on the token of the page's URL.
const INITIALIZER: &str = include_str!("../openapi/initializer.js");

pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    // Built once per router; a request only copies the text.
    let document = document().to_string();
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
    let document = document();
    let paths = document["paths"].as_object();
    paths.into_iter().flat_map(Map::keys).cloned().collect()
}

fn document() -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let mut responses = responses();
    for part in PARTS {
        let mut part: Value =
            serde_json::from_str(part).expect("a part of the description is JSON");
        paths.append(part["paths"].as_object_mut().expect("each part has paths"));
        schemas.append(
            part["schemas"]
                .as_object_mut()
                .expect("each part has schemas"),
        );
        if let Some(more) = part["responses"].as_object_mut() {
            responses.append(more);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Registrar",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An event store with Dynamic Consistency Boundaries, a message store and a time-series engine.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" }
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } }
        }
    })
}

/// The error responses that the interfaces with text errors share. The other interfaces define
/// their own.
fn responses() -> Map<String, Value> {
    let error = |description: &str| {
        json!({
            "description": description,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } }
        })
    };
    [
        ("Invalid", "The request is malformed or breaks a limit"),
        ("Unauthorized", "A token is missing or wrong"),
        ("Forbidden", "The server's settings or the token do not allow this, or, without tokens, the request comes from another site's page: CROSS_ORIGIN, HOST_UNKNOWN"),
        ("Timeout", "The body took too long to arrive"),
        ("MethodNotAllowed", "The path does not support this method"),
        ("TooLarge", "The body exceeds the server's limit"),
        ("Failed", "Internal error; the server's log has the cause"),
        ("DiskFull", "The disk is full: nothing was written. The same request succeeds once there is space"),
        ("Unavailable", "The server is overloaded or a store does not answer: retry after the time in Retry-After"),
    ]
    .into_iter()
    .map(|(name, description)| (name.to_owned(), error(description)))
    .collect()
}
