use std::sync::Arc;

use axum::http::HeaderValue;

use super::refusal::{invalid_token, required, unauthorized};
use super::tokens::Tokens;
use crate::error::ApiError;
use crate::namespaces::{OpenNamespace, TokenHash, namespace_of};
use crate::stores::DEFAULT;

/// The identity behind a request, found from its token.
#[derive(Clone)]
pub(crate) struct Caller {
    namespace: Option<Arc<OpenNamespace>>,
    is_admin: bool,
    answered_token: Option<HeaderValue>,
}

/// Rejects a request without a required token, or with a malformed one. This needs no lookup, so it
/// can run before the body is read.
pub(super) fn screen(tokens: &Tokens, token: Option<&str>) -> Result<(), ApiError> {
    let Some(token) = token else {
        return match tokens.are_needed() {
            true => Err(required()),
            false => Ok(()),
        };
    };
    let hash = TokenHash::of(token);
    let is_of_settings = tokens.is_admin(&hash) || tokens.is_of_default(&hash);
    match is_of_settings || namespace_of(token).is_some() {
        true => Ok(()),
        false => Err(invalid_token()),
    }
}

impl Caller {
    /// Finds the caller of a request with this token, or without one.
    ///
    /// # Errors
    /// 401 if a required token is missing or malformed, 403 if the token opens no namespace.
    pub(super) async fn identify(tokens: &Tokens, token: Option<&str>) -> Result<Self, ApiError> {
        match token {
            Some(token) => Self::with_token(tokens, token).await,
            None if tokens.are_needed() => Err(required()),
            None => Ok(Self {
                is_admin: true,
                // Tells a test client the token of `default`, if the server still knows it.
                answered_token: tokens.known_of_default().and_then(header),
                ..Self::of_default(tokens).await?
            }),
        }
    }

    async fn with_token(tokens: &Tokens, token: &str) -> Result<Self, ApiError> {
        // The tokens in the settings come first: they may have any form, so they need not name a
        // namespace.
        let hash = TokenHash::of(token);
        let is_admin = tokens.is_admin(&hash);
        if tokens.is_of_default(&hash) {
            return Ok(Self {
                is_admin: is_admin || tokens.settings.test_mode,
                ..Self::of_default(tokens).await?
            });
        }
        if is_admin {
            return Ok(Self {
                namespace: None,
                is_admin,
                answered_token: None,
            });
        }
        let name = namespace_of(token).ok_or_else(invalid_token)?;
        let is_default = name.as_str() == DEFAULT;
        if is_default && tokens.namespaces.token_of_default().is_some() {
            // The token in the settings replaces the one that is stored with `default`.
            return Err(refused());
        }
        let (namespace, answered_token) = match tokens.namespaces.find(&name).await? {
            Some(namespace) => (namespace, None),
            None if tokens.are_needed() => return Err(refused()),
            // Test mode creates a namespace the first time somebody uses a token for it.
            None => {
                let made = tokens.namespaces.ensure(&name, &hash).await?;
                (made, header(token))
            }
        };
        if !namespace.takes(&hash) {
            return Err(refused());
        }
        Ok(Self {
            namespace: Some(namespace),
            is_admin: is_default && tokens.settings.test_mode,
            answered_token,
        })
    }

    async fn of_default(tokens: &Tokens) -> Result<Self, ApiError> {
        let namespace = tokens.namespaces.default_namespace().await?;
        Ok(Self {
            namespace: Some(namespace),
            is_admin: false,
            answered_token: None,
        })
    }

    /// The namespace of this request.
    ///
    /// # Errors
    /// 403 for the admin token, which belongs to no namespace.
    pub(crate) fn namespace(&self) -> Result<&Arc<OpenNamespace>, ApiError> {
        self.namespace
            .as_ref()
            .ok_or_else(|| unauthorized("the admin token belongs to no namespace"))
    }

    /// Whether the request is for this namespace.
    pub(crate) fn is_of(&self, namespace: &str) -> bool {
        self.namespace
            .as_ref()
            .is_some_and(|open| open.name.as_str() == namespace)
    }

    /// Whether the caller may create, list and delete namespaces.
    pub(crate) fn is_admin(&self) -> bool {
        self.is_admin
    }

    /// Whether the caller may use events, series and the page, which belong to no namespace.
    pub(super) fn may_use_the_server(&self) -> bool {
        self.is_admin || self.is_of(DEFAULT)
    }

    pub(super) fn answered_token(&self) -> Option<&HeaderValue> {
        self.answered_token.as_ref()
    }
}

/// One error for an unknown namespace and for a wrong token, so that it does not reveal which
/// namespaces exist.
fn refused() -> ApiError {
    unauthorized("no namespace accepts this token")
}

fn header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(token).ok()?;
    // Keeps the token out of debug output.
    value.set_sensitive(true);
    Some(value)
}
