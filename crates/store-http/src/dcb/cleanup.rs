use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::Dcb;
use super::json::response;
use crate::error::ApiError;
use crate::input::check_no_body;

/// `POST /dcb/cleanup`.
pub(super) async fn cleanup(
    State(dcb): State<Arc<Dcb>>,
    body: Bytes,
) -> Result<Response, ApiError> {
    check_no_body(&body)?;
    if let Some(refusal) = dcb.options.cleanup_refused {
        let code = "CLEANUP_NOT_ALLOWED";
        return Err(ApiError::new(StatusCode::FORBIDDEN, code, refusal));
    }
    dcb.events.clear().await?;
    Ok(response(
        r#"{"message":"Database cleaned up successfully","success":true}"#,
    ))
}
