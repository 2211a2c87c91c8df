//! Errors as the interfaces send them: JSON with a stable code, never SQL and never a path.
//!
//! A handler returns a status, a code and a message. Only [`render`] decides how an error looks on
//! the wire. So all errors of an interface have one form, including errors of axum itself. Tests:
//! `tests/it/server.rs` and the `invalid` and `malformed` modules of each interface.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use store_fault::Fault;

/// An error response. [`render`] writes it in the form of the interface.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The status of the answer.
    pub status: StatusCode,
    /// A stable name in upper snake case, for example `INVALID_REQUEST`.
    pub code: &'static str,
    /// A text for people.
    pub message: String,
    /// Facts for a program, beside the code.
    pub details: Option<Value>,
    /// The header `Retry-After`, in seconds.
    pub retry_after_s: Option<u32>,
}

impl ApiError {
    /// The code for a query that exceeds its time limit.
    pub const QUERY_TIMEOUT: &str = "QUERY_TIMEOUT";

    /// An error without details.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            details: None,
            retry_after_s: None,
        }
    }

    /// 400 `INVALID_REQUEST`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// 400 `INVALID_REQUEST` with `details.field`.
    pub fn invalid_field(field: &str, message: impl Into<String>) -> Self {
        Self {
            details: Some(json!({ "field": field })),
            ..Self::invalid(message)
        }
    }

    /// 403 `AUTH_UNAUTHORIZED`.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "AUTH_UNAUTHORIZED", message)
    }

    /// Adds details that a program can read.
    pub fn with_details(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }

    /// 503 `OVERLOADED`, with `Retry-After`.
    pub fn overloaded(message: impl Into<String>) -> Self {
        Self {
            retry_after_s: Some(1),
            ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "OVERLOADED", message)
        }
    }

    /// The answer to a fault of this store: 507 `DISK_FULL`, 503 with `Retry-After` if it may pass or the
    /// store is read-only or closed, or 500. The reason goes to the log only: it may name hosts, paths
    /// and SQL.
    pub fn fault(store: &str, fault: &Fault) -> Self {
        let (code, message) = match fault {
            Fault::DiskFull(_) => ("DISK_FULL", format!("the disk of the {store} is full")),
            Fault::ReadOnly(_) | Fault::ReadOnlyFile { .. } => {
                ("READ_ONLY", format!("the {store} is read-only"))
            }
            Fault::TimedOut { .. } => ("STORE_TIMEOUT", format!("the {store} timed out")),
            Fault::Unreachable(_) => ("UNAVAILABLE", format!("the {store} is unreachable")),
            Fault::Closed => ("UNAVAILABLE", format!("the {store} is closing")),
            busy if busy.is_transient() => ("UNAVAILABLE", format!("the {store} is busy")),
            _ => return Self::internal(fault),
        };
        tracing::error!(store, %fault, "a store did not serve a request");
        let busy = Self {
            code,
            ..Self::overloaded(format!("{message}: nothing was written"))
        };
        match fault {
            Fault::DiskFull(_) => Self {
                status: StatusCode::INSUFFICIENT_STORAGE,
                retry_after_s: None,
                ..busy
            },
            _ => busy,
        }
    }

    /// 408 `BODY_TIMEOUT`.
    pub fn body_timeout() -> Self {
        Self::new(
            StatusCode::REQUEST_TIMEOUT,
            "BODY_TIMEOUT",
            "the body took too long to arrive",
        )
    }

    /// 500 `INTERNAL_ERROR`. The cause goes to the log only: it may contain SQL or paths.
    pub fn internal(what: &dyn std::fmt::Display) -> Self {
        tracing::error!(%what, "a request failed");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            "internal error; see the server's log",
        )
    }

    /// Renders the error in this form.
    fn response(&self, form: Form) -> Response {
        let body = form.body(self);
        let mut response = (self.status, Json(body)).into_response();
        if let Some(seconds) = self.retry_after_s {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // HTTP requires a challenge with every 401 (RFC 9110, 15.5.2).
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

/// The JSON form of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `{"error":"message","code":"CODE"}`: events, the series' own JSON interface, the server's
    /// paths.
    Text,
    /// `{"error":{"code","message","details"?}}`: messages.
    Object,
    /// `{"status":"error","errorType":"bad_data","error":"message"}`: Prometheus.
    Prometheus,
    /// `{"code":"invalid","message":"message"}`: InfluxDB.
    Influx,
}

impl Form {
    /// The form for a path.
    fn of(path: &str) -> Self {
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
            let target = match self {
                Self::Object => &mut body["error"],
                Self::Text | Self::Prometheus | Self::Influx => &mut body,
            };
            target["details"] = details.clone();
        }
        body
    }
}

/// Prometheus' name for the kind of error.
fn error_type(error: &ApiError) -> &'static str {
    match error.status {
        _ if error.code == ApiError::QUERY_TIMEOUT => "timeout",
        StatusCode::UNPROCESSABLE_ENTITY => "execution",
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => "unavailable",
        StatusCode::NOT_FOUND => "not_found",
        status if status.is_server_error() => "internal",
        _ => "bad_data",
    }
}

/// InfluxDB's name for the kind of error.
fn influx_code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "unauthorized",
        StatusCode::FORBIDDEN => "forbidden",
        StatusCode::NOT_FOUND => "not found",
        StatusCode::METHOD_NOT_ALLOWED => "method not allowed",
        StatusCode::PAYLOAD_TOO_LARGE => "request too large",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "unsupported media type",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        StatusCode::TOO_MANY_REQUESTS => "too many requests",
        status if status.is_server_error() => "internal error",
        _ => "invalid",
    }
}

/// The start of the names of headers that an error keeps.
const WRITTEN: &str = "x-prometheus-remote-write-";

/// Rewrites every error response, including axum's own, in the form of its interface.
pub async fn render(request: Request, next: Next) -> Response {
    let form = Form::of(request.uri().path());
    let mut response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    match response.extensions_mut().remove::<ApiError>() {
        Some(error) => {
            let mut rendered = error.response(form);
            let written = response.headers().iter();
            // A partial write also tells how much was written.
            let written = written.filter(|(name, _)| name.as_str().starts_with(WRITTEN));
            let written = written.map(|(name, value)| (name.clone(), value.clone()));
            rendered.headers_mut().extend(written);
            rendered
        }
        // A handler that answers JSON itself has already chosen the right form.
        None if is_json(&response) => response,
        None => {
            let mut rendered = framework_error(status, form).response(form);
            // Method errors must list the allowed methods, and only axum knows them.
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

/// An error that axum answers by itself.
fn framework_error(status: StatusCode, form: Form) -> ApiError {
    let (code, message) = match status {
        // The messages interface has no METHOD_NOT_ALLOWED in its list of codes.
        StatusCode::METHOD_NOT_ALLOWED if form == Form::Object => {
            ("INVALID_REQUEST", "this path does not support this method")
        }
        StatusCode::NOT_FOUND => ("NOT_FOUND", "no such path"),
        StatusCode::METHOD_NOT_ALLOWED => (
            "METHOD_NOT_ALLOWED",
            "this path does not support this method",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => ("BODY_TOO_LARGE", "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "UNSUPPORTED_MEDIA_TYPE",
            "this path does not accept this content type",
        ),
        status if status.is_client_error() => ("INVALID_REQUEST", "the request is malformed"),
        _ => ("INTERNAL_ERROR", "internal error; see the server's log"),
    };
    ApiError::new(status, code, message)
}
