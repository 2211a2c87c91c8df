use axum::http::HeaderValue;

use super::refusal::{invalid_token, required};
use super::tokens::Tokens;
use store_http::ApiError;
use store_http::messages::{Caller, DEFAULT, TokenHash, namespace_of};

/// The identity behind a request, found from its token.
pub(super) struct Identified {
    pub(super) caller: Caller,
    /// A token to tell a client of test mode.
    pub(super) answered_token: Option<HeaderValue>,
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

impl Identified {
    /// Finds the caller of a request with this token, or without one.
    ///
    /// # Errors
    /// 401 if a required token is missing or malformed, 403 if the token opens no namespace.
    pub(super) async fn by(tokens: &Tokens, token: Option<&str>) -> Result<Self, ApiError> {
        match token {
            Some(token) => Self::with_token(tokens, token).await,
            None if tokens.are_needed() => Err(required()),
            None => Ok(Self {
                caller: of_default(tokens, true).await?,
                // Tells a test client the token of `default`, if the server still knows it.
                answered_token: tokens.known_of_default().and_then(header),
            }),
        }
    }

    async fn with_token(tokens: &Tokens, token: &str) -> Result<Self, ApiError> {
        // The tokens in the settings come first: they may have any form, so they need not name a
        // namespace.
        let hash = TokenHash::of(token);
        let is_admin = tokens.is_admin(&hash);
        if tokens.is_of_default(&hash) {
            let is_admin = is_admin || tokens.settings.test_mode;
            return Ok(of_default(tokens, is_admin).await?.into());
        }
        if is_admin {
            let namespace = None;
            return Ok(Caller {
                namespace,
                is_admin,
            }
            .into());
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
            caller: Caller {
                namespace: Some(namespace),
                is_admin: is_default && tokens.settings.test_mode,
            },
            answered_token,
        })
    }
}

impl From<Caller> for Identified {
    fn from(caller: Caller) -> Self {
        Self {
            caller,
            answered_token: None,
        }
    }
}

async fn of_default(tokens: &Tokens, is_admin: bool) -> Result<Caller, ApiError> {
    let namespace = tokens.namespaces.default_namespace().await?;
    Ok(Caller {
        namespace: Some(namespace),
        is_admin,
    })
}

/// One error for an unknown namespace and for a wrong token, so that it does not reveal which
/// namespaces exist.
fn refused() -> ApiError {
    ApiError::unauthorized("no namespace accepts this token")
}

fn header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(token).ok()?;
    // Keeps the token out of debug output.
    value.set_sensitive(true);
    Some(value)
}
