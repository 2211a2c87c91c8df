use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;

use super::namespaces::OpenNamespace;
use crate::error::ApiError;

/// The rights of a request: its namespace, and whether it may change namespaces.
#[derive(Clone)]
pub struct Caller {
    /// The messages that the request reads and writes. `None` may only manage namespaces.
    pub namespace: Option<Arc<OpenNamespace>>,
    /// Whether the caller may create, list and delete namespaces.
    pub is_admin: bool,
}

impl Caller {
    /// The namespace of this request.
    ///
    /// # Errors
    /// 403 for the admin token, which belongs to no namespace.
    pub(super) fn namespace(&self) -> Result<&Arc<OpenNamespace>, ApiError> {
        let none = || ApiError::unauthorized("the admin token belongs to no namespace");
        self.namespace.as_ref().ok_or_else(none)
    }

    /// Whether the request is for this namespace.
    pub fn is_of(&self, namespace: &str) -> bool {
        self.namespace
            .as_ref()
            .is_some_and(|open| open.name.as_str() == namespace)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    /// Takes it from the extensions; 401 if no layer of the service has put one there.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get().cloned();
        caller.ok_or_else(|| {
            let message = "the request names no caller";
            ApiError::new(StatusCode::UNAUTHORIZED, "AUTH_REQUIRED", message)
        })
    }
}
