use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::json::response;
use crate::error::ApiError;
use crate::input::check_no_body;
use crate::settings::Settings;
use crate::stores::Events;

/// `POST /dcb/cleanup`.
pub(super) async fn cleanup(
    State(events): State<Events>,
    State(settings): State<Arc<Settings>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    check_no_body(&body)?;
    if !settings.may_clean_up() {
        return Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "CLEANUP_NOT_ALLOWED",
            "clearing the log is disabled; start the server with --allow-cleanup",
        ));
    }
    events.clear().await?;
    Ok(response(
        r#"{"message":"Database cleaned up successfully","success":true}"#,
    ))
}
