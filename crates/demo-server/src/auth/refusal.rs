use axum::http::StatusCode;

use store_http::ApiError;

/// 401 `AUTH_REQUIRED`.
pub(super) fn required() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "AUTH_REQUIRED",
        "this server requires a token: send Authorization: Bearer <token>, or add ?token=<token>",
    )
}

/// 401 `AUTH_INVALID_TOKEN`.
pub(super) fn invalid_token() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "AUTH_INVALID_TOKEN",
        "malformed token: expected ns_<namespace in base64url>_<64 hexadecimal digits>",
    )
}
