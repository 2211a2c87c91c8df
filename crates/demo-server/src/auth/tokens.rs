use super::token::{TokenHash, secret};
use crate::settings::Settings;

/// The tokens of the server itself, hashed.
pub(crate) struct Tokens {
    administration: Option<TokenHash>,
    default_namespace: Option<TokenHash>,
    made_for_admin: Option<String>,
    are_needed: bool,
}

impl Tokens {
    /// Makes a token for the administration where one is needed and none was given.
    pub(crate) fn of(settings: &Settings) -> Self {
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

    /// The administration token, where the server made it.
    pub(crate) fn made_for_admin(&self) -> Option<&str> {
        self.made_for_admin.as_deref()
    }

    /// Whether a caller must bring one where a path asks.
    pub(crate) fn are_needed(&self) -> bool {
        self.are_needed
    }

    /// Whether it is the administration's.
    pub(super) fn administers(&self, token: &TokenHash) -> bool {
        self.administration.is_some_and(|own| own.is(token))
    }

    /// The token of the namespace `default` that was given with the settings. It counts instead of
    /// the one that is kept with the namespace.
    pub(crate) fn of_default(&self) -> Option<&TokenHash> {
        self.default_namespace.as_ref()
    }
}
