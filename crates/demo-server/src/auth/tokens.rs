use std::sync::Arc;

use store_http::messages::{DEFAULT, OpenNamespaces, TokenHash, namespace_of, secret};

use crate::settings::Settings;

/// The tokens that callers may use: the admin token, and those of the namespaces.
pub(crate) struct Tokens {
    pub(super) settings: Arc<Settings>,
    pub(super) namespaces: Arc<OpenNamespaces>,
    administration: Option<TokenHash>,
    made_for_admin: Option<String>,
}

impl Tokens {
    /// Makes an admin token if one is needed and the settings have none.
    pub(crate) fn of(settings: Arc<Settings>, namespaces: Arc<OpenNamespaces>) -> Self {
        let made_for_admin = match settings.admin_token {
            None if settings.needs_tokens() => Some(format!("admin_{}", secret())),
            _ => None,
        };
        let administration = settings.admin_token.as_ref().or(made_for_admin.as_ref());
        Self {
            administration: administration.map(|token| TokenHash::of(token)),
            made_for_admin,
            settings,
            namespaces,
        }
    }

    /// The admin token, if the server made it.
    pub(crate) fn made_for_admin(&self) -> Option<&str> {
        self.made_for_admin.as_deref()
    }

    /// Whether a path that requires a token rejects callers without one.
    pub(super) fn are_needed(&self) -> bool {
        self.settings.needs_tokens()
    }

    /// Whether this is the admin token.
    pub(super) fn is_admin(&self, token: &TokenHash) -> bool {
        self.administration.is_some_and(|hash| hash.is(token))
    }

    /// Whether this is the token of `default` in the settings.
    pub(super) fn is_of_default(&self, token: &TokenHash) -> bool {
        let default = self.namespaces.token_of_default();
        default.is_some_and(|default| default.is(token))
    }

    /// The token of `default`, if this server knows it. The store only has its hash.
    pub(super) fn known_of_default(&self) -> Option<&str> {
        let given = self.settings.token.as_deref();
        given.or(self.namespaces.made_for_default())
    }
}

/// Checks the token of `default` in the settings.
///
/// # Errors
/// A text if another namespace owns the token.
pub(crate) fn check_token_of_default(token: Option<&str>) -> Result<(), String> {
    match token.and_then(namespace_of) {
        Some(name) if name.as_str() != DEFAULT => {
            Err("--token must not be a token of another namespace".to_owned())
        }
        _ => Ok(()),
    }
}
