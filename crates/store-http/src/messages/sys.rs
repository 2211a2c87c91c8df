//! `sys.*`, and `GET /version`.

use axum::http::StatusCode;
use axum::response::Response;
use message_store::AnyNamespaces;
use serde_json::json;

use super::answer::json_answer;
use super::call::Call;
use crate::error::ApiError;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `["sys.version"]`.
pub(super) fn version() -> Response {
    json_answer(json!(VERSION).to_string())
}

/// `GET /version`.
pub(super) async fn version_document() -> Response {
    json_answer(json!({ "version": VERSION }).to_string())
}

/// `["sys.health"]`. `connections` counts subscriptions.
pub(super) fn health(call: &Call<'_>) -> Result<Response, ApiError> {
    // The result of the background probe: the call itself costs no store access.
    if !call.service.watch.stores_answer() {
        return Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "BACKEND_ERROR",
            "a store did not answer its health check",
        ));
    }
    let backend = match &*call.namespaces.stores {
        AnyNamespaces::Sqlite(_) => "sqlite",
        _ => "postgres",
    };
    let health = json!({
        "status": "ok",
        "backend": backend,
        "connections": call.service.load().subscriptions,
    });
    Ok(json_answer(health.to_string()))
}
