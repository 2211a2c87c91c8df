//! Errors as the interfaces show them: JSON with a stable code, never SQL and never a path.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An answer of 400 and above. [`render`] gives it the form of the interface that it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    /// Stable, in capitals: `INVALID_REQUEST`.
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) retry_after_s: Option<u32>,
}

impl ApiError {
    /// The code of a query that took too long.
    pub(crate) const QUERY_TIMEOUT: &str = "QUERY_TIMEOUT";

    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            details: None,
            retry_after_s: None,
        }
    }

    /// 400 `INVALID_REQUEST`.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// 400 `INVALID_REQUEST` with `details.field`.
    pub(crate) fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        Self {
            details: Some(json!({ "field": field })),
            ..Self::invalid(message)
        }
    }

    /// With what a program may want to know.
    pub(crate) fn with_details(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }

    /// 503 `OVERLOADED`, with the time after which to try again.
    pub(crate) fn overloaded(message: impl Into<String>) -> Self {
        Self {
            retry_after_s: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", message)
        }
    }

    /// 408 `BODY_TIMEOUT`.
    pub(crate) fn body_timeout() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "BODY_TIMEOUT",
            "the body took too long to arrive",
        )
    }

    /// 500 `INTERNAL_ERROR`. What went wrong goes to the log, not to the caller.
    pub(crate) fn internal(what: &dyn std::fmt::Display) -> Self {
        tracing::error!(%what, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            "the server failed",
        )
    }

    /// The answer in the form of the interface.
    pub(crate) fn response(&self, form: Form) -> Response {
        let body = form.body(self);
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after_s {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let headers = response.headers_mut();
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// How an interface writes errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `{"error":"message","code":"CODE"}`: events, the seed's series, the server's own paths.
    Text,
    /// `{"error":{"code","message","details"?}}`: messages.
    Object,
    /// `{"status":"error","errorType":"bad_data","error":"message"}`: Prometheus.
    Prometheus,
    /// `{"code":"invalid","message":"message"}`: InfluxDB.
    Influx,
}

impl Form {
    /// The form of the interface that a path belongs to.
    pub(crate) fn of(path: &str) -> Self {
        const MESSAGES: [&str; 4] = ["/rpc", "/subscribe", "/import", "/version"];
        if MESSAGES.contains(&path) {
            Self::Object
        } else if path.starts_with("/api/v1/") {
            Self::Prometheus
        } else if path.starts_with("/api/v2/") {
            Self::Influx
        } else {
            Self::Text
        }
    }

    fn body(self, error: &ApiError) -> Value {
        let ApiError {
            code,
            message,
            details,
            ..
        } = error;
        let mut body = match self {
            Self::Text => json!({ "error": message, "code": code }),
            Self::Object => json!({ "error": { "code": code, "message": message } }),
            Self::Prometheus => {
                json!({ "status": "error", "errorType": error_type(error), "error": message })
            }
            Self::Influx => json!({ "code": influx_code(error.status), "message": message }),
        };
        if let Some(details) = details {
            let place = match self {
                Self::Object => &mut body["error"],
                Self::Text | Self::Prometheus | Self::Influx => &mut body,
            };
            place["details"] = details.clone();
        }
        body
    }
}

/// The error types that Prometheus names.
fn error_type(error: &ApiError) -> &'static str {
    match error.status {
        _ if error.code == ApiError::QUERY_TIMEOUT => "timeout",
        StatusCode::UNPROCESSABLE_ENTITY => "execution",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        StatusCode::NOT_FOUND => "not_found",
        status if status.is_server_error() => "internal",
        _ => "bad_data",
    }
}

/// The codes that InfluxDB names.
fn influx_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not found",
        StatusCode::METHOD_NOT_ALLOWED => "method not allowed",
        StatusCode::PAYLOAD_TOO_LARGE => "request too large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported media type",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        status if status.is_server_error() => "internal error",
        _ => "invalid",
    }
}

/// Writes every error in the form of its interface, those that the framework answers included.
pub(crate) async fn render(request: Request, next: Next) -> Response {
    let form = Form::of(request.uri().path());
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error.response(form),
        None if is_json(&response) => response,
        None => {
            let mut rendered = framework_error(status, form).response(form);
            if let Some(allow) = response.headers_mut().remove(header::ALLOW) {
                rendered.headers_mut().insert(header::ALLOW, allow);
            }
            rendered
        }
    }
}

fn is_json(response: &Response) -> bool {
    response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"))
}

/// What axum answers by itself.
fn framework_error(status: StatusCode, form: Form) -> ApiError {
    let (code, message) = match status {
        StatusCode::METHOD_NOT_ALLOWED if form == Form::Object => {
            ("INVALID_REQUEST", "this path does not take this method")
        }
        StatusCode::NOT_FOUND => ("NOT_FOUND", "there is nothing at this path"),
        StatusCode::METHOD_NOT_ALLOWED => {
            ("METHOD_NOT_ALLOWED", "this path does not take this method")
        }
        StatusCode::PAYLOAD_TOO_LARGE => ("BODY_TOO_LARGE", "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "UNSUPPORTED_MEDIA_TYPE",
            "this path does not take this content type",
        ),
        status if status.is_client_error() => ("INVALID_REQUEST", "the request can't be read"),
        _ => ("INTERNAL_ERROR", "the server failed"),
    };
    ApiError::new(status, code, message)
}
