use super::token::{TokenHash, secret};
use crate::settings::Settings;

/// The tokens that the settings define or that the server makes itself.
pub(crate) struct Tokens {
    administration: Option<TokenHash>,
    default_namespace: Option<TokenHash>,
    made_for_admin: Option<String>,
    are_needed: bool,
}

impl Tokens {
    /// Makes an admin token if one is needed and the settings have none.
    pub(crate) fn of(settings: &Settings) -> Self {
        // Test mode drops the requirement. `Settings::check` allows this only if other computers
        // can't reach the server.
        let are_needed = settings.require_token || !settings.test_mode;
        let made_for_admin = match settings.admin_token {
            None if are_needed => Some(format!("admin_{}", secret())),
            _ => None,
        };
        let administration = settings.admin_token.as_ref().or(made_for_admin.as_ref());
        Self {
            administration: administration.map(|token| TokenHash::of(token)),
            default_namespace: settings.token.as_deref().map(TokenHash::of),
            made_for_admin,
            are_needed,
        }
    }

    /// The admin token, if the server made it.
    pub(crate) fn made_for_admin(&self) -> Option<&str> {
        self.made_for_admin.as_deref()
    }

    /// Whether a path that requires a token rejects callers without one.
    pub(crate) fn are_needed(&self) -> bool {
        self.are_needed
    }

    /// Whether this is the admin token.
    pub(super) fn is_admin(&self, token: &TokenHash) -> bool {
        self.administration.is_some_and(|hash| hash.is(token))
    }

    /// The token of the namespace `default` in the settings. It replaces the token that is stored
    /// with the namespace.
    pub(crate) fn of_default(&self) -> Option<&TokenHash> {
        self.default_namespace.as_ref()
    }
}
