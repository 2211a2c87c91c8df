use std::sync::Arc;

use axum::http::HeaderValue;

use super::token::{TokenHash, namespace_of};
use super::{invalid_token, required, unauthorized};
use crate::app::App;
use crate::error::ApiError;
use crate::messages::{DEFAULT, OpenNamespace, api_error};

/// Who makes a request.
#[derive(Clone)]
pub(crate) struct Caller {
    namespace: Option<Arc<OpenNamespace>>,
    administers: bool,
    answered_token: Option<HeaderValue>,
}

/// Refuses who brings no token where one is needed, or none that could be one. Nothing is looked up.
pub(super) fn screen(app: &App, token: Option<&str>) -> Result<(), ApiError> {
    let tokens = &app.tokens;
    let Some(token) = token else {
        return match tokens.are_needed() {
            true => Err(required()),
            false => Ok(()),
        };
    };
    let hash = TokenHash::of(token);
    let is_of_settings =
        tokens.administers(&hash) || tokens.of_default().is_some_and(|own| own.is(&hash));
    match is_of_settings || namespace_of(token).is_some() {
        true => Ok(()),
        false => Err(invalid_token()),
    }
}

impl Caller {
    /// Who brings this token, or none.
    ///
    /// # Errors
    /// 401 where a token is missing or is none, 403 where it opens nothing.
    pub(super) async fn identify(app: &App, token: Option<&str>) -> Result<Self, ApiError> {
        match token {
            Some(token) => Self::with_token(app, token).await,
            None if app.tokens.are_needed() => Err(required()),
            None => {
                let known = app.namespaces.token_of_default(&app.settings);
                Ok(Self {
                    administers: true,
                    answered_token: known.and_then(header),
                    ..Self::of_default(app).await?
                })
            }
        }
    }

    async fn with_token(app: &App, token: &str) -> Result<Self, ApiError> {
        let hash = TokenHash::of(token);
        let administers = app.tokens.administers(&hash);
        if app.tokens.of_default().is_some_and(|own| own.is(&hash)) {
            return Ok(Self {
                administers: administers || app.settings.test_mode,
                ..Self::of_default(app).await?
            });
        }
        if administers {
            return Ok(Self {
                namespace: None,
                administers,
                answered_token: None,
            });
        }
        let name = namespace_of(token).ok_or_else(invalid_token)?;
        let is_default = name.as_str() == DEFAULT;
        if is_default && app.tokens.of_default().is_some() {
            // Another one was given with the settings.
            return Err(refused());
        }
        let found = app.namespaces.find(&app.stores.messages, &name).await;
        let (namespace, answered_token) = match found.map_err(api_error)? {
            Some(namespace) => (namespace, None),
            None if app.tokens.are_needed() => return Err(refused()),
            None => {
                let made = app.namespaces.ensure(&app.stores.messages, &name, &hash);
                (made.await.map_err(api_error)?, header(token))
            }
        };
        if !namespace.takes(&hash) {
            return Err(refused());
        }
        Ok(Self {
            namespace: Some(namespace),
            administers: is_default && app.settings.test_mode,
            answered_token,
        })
    }

    async fn of_default(app: &App) -> Result<Self, ApiError> {
        let namespace = app
            .namespaces
            .default_namespace(&app.stores.messages, &app.tokens);
        Ok(Self {
            namespace: Some(namespace.await.map_err(api_error)?),
            administers: false,
            answered_token: None,
        })
    }

    /// The namespace that the request is for.
    ///
    /// # Errors
    /// 403 for the administration token, which has none.
    pub(crate) fn namespace(&self) -> Result<&Arc<OpenNamespace>, ApiError> {
        self.namespace
            .as_ref()
            .ok_or_else(|| unauthorized("the administration token has no namespace of its own"))
    }

    /// Whether this is the namespace that the request is for.
    pub(crate) fn is_of(&self, namespace: &str) -> bool {
        let own = self.namespace.as_ref();
        own.is_some_and(|own| own.name.as_str() == namespace)
    }

    /// Whether it may make, list and delete namespaces.
    pub(crate) fn administers(&self) -> bool {
        self.administers
    }

    /// Whether it may use what is no namespace's own.
    pub(super) fn may_use_the_server(&self) -> bool {
        self.administers || self.is_of(DEFAULT)
    }

    pub(super) fn answered_token(&self) -> Option<&HeaderValue> {
        self.answered_token.as_ref()
    }
}

/// The same whether there is no such namespace or its token is another.
fn refused() -> ApiError {
    unauthorized("this token opens no namespace")
}

fn header(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(token).ok()?;
    value.set_sensitive(true);
    Some(value)
}
