use std::time::Duration;

use axum::extract::Request;
use axum::http::{Method, StatusCode};

/// What the access log tells of a request. The parameters are left out, because one may be a token.
pub(super) struct Logged {
    method: Method,
    path: String,
}

impl Logged {
    pub(super) fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        }
    }

    pub(super) fn write(self, status: StatusCode, took: Duration) {
        tracing::info!(
            target: "demo_server::access",
            method = %self.method,
            path = self.path,
            status = status.as_u16(),
            ms = took.as_secs_f64() * 1000.0,
            "answered"
        );
    }
}
