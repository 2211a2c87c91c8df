use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::json::response;
use crate::app::App;
use crate::error::ApiError;

/// `POST /dcb/cleanup`.
pub(super) async fn cleanup(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    if !app.settings.may_clean_up() {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "CLEANUP_NOT_ALLOWED",
            "clearing the log is disabled; start the server with --allow-cleanup",
        ));
    }
    app.stores.events.clear().await?;
    Ok(response(
        r#"{"message":"Database cleaned up successfully","success":true}"#,
    ))
}
