//! The OpenAPI document of the interfaces.

use serde_json::{Map, Value, json};

/// The `paths`, `schemas` and `responses` of each interface, and the errors that they share.
const PARTS: [&str; 6] = [
    include_str!("../openapi/errors.json"),
    include_str!("../openapi/dcb.json"),
    include_str!("../openapi/messages.json"),
    include_str!("../openapi/series.json"),
    include_str!("../openapi/prometheus.json"),
    include_str!("../openapi/explorer.json"),
];

/// The OpenAPI document of all routers, with the events under `/dcb` and the others at the root.
/// Each of `more` is an object with the `paths` and `schemas`, and perhaps `responses`, of the
/// service's own interfaces. `info` and `servers` are for the service to change.
///
/// # Panics
/// If one of `more` is not such an object.
pub fn document(more: &[&str]) -> Value {
    let (mut paths, mut schemas, mut responses) = (Map::new(), Map::new(), Map::new());
    for part in PARTS.iter().chain(more) {
        let mut part: Value =
            serde_json::from_str(part).expect("a part of the description is JSON");
        let mut members = |name| part[name].as_object_mut().map(std::mem::take);
        paths.extend(members("paths").expect("each part has paths"));
        schemas.extend(members("schemas").expect("each part has schemas"));
        responses.extend(members("responses").unwrap_or_default());
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
