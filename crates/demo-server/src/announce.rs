//! The lines of the log at the start: what is served, with which limits, and what is insecure.
//! Tests: `tests/it/log.rs` and the module `tests` below.

use std::net::SocketAddr;

use crate::settings::Settings;

/// Writes the lines of a server at this address, with its data at this location.
pub(crate) fn log(settings: &Settings, address: SocketAddr, location: &str) {
    tracing::info!(%address, data = location, "serving events, messages and series over HTTP");
    tracing::info!(
        max_body_bytes = settings.max_body_bytes,
        body_timeout_s = settings.body_timeout_s,
        max_requests = settings.max_requests,
        max_waiting = settings.max_waiting,
        max_subscriptions = settings.max_subscriptions,
        subscriber_bytes = settings.subscriber_bytes,
        series_bytes = settings.series_bytes,
        "limits"
    );
    for danger in insecure(settings) {
        tracing::warn!("insecure: {danger}");
    }
}

/// What these settings leave open.
fn insecure(settings: &Settings) -> Vec<&'static str> {
    let is_remote = !settings.listen.is_loopback();
    let dangers = [
        (
            settings.test_mode && !settings.require_token,
            "with --test-mode, every program on this computer has admin rights without a token",
        ),
        (
            !settings.test_mode && !settings.require_token,
            "without --require-token, every program on this computer may read and write events and series",
        ),
        (
            is_remote,
            "tokens and data pass the network unencrypted: put a proxy with TLS before the server",
        ),
        (
            has_short_token(settings),
            "a token of --token or --admin-token can be guessed: use at least 16 random characters",
        ),
        (
            settings.of_events().cleanup_refused.is_none(),
            "POST /dcb/cleanup deletes all events",
        ),
        (
            settings.enable_admin_api,
            "POST /api/v1/admin/tsdb/delete_series deletes samples",
        ),
    ];
    let dangers = dangers.into_iter().filter(|(applies, _)| *applies);
    dangers.map(|(_, danger)| danger).collect()
}

/// Whether a token of the settings is shorter than 16 characters.
fn has_short_token(settings: &Settings) -> bool {
    let tokens = [&settings.token, &settings.admin_token].into_iter();
    tokens.flatten().any(|token| token.chars().count() < 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_that_leaves_something_open_is_named() {
        let closed = Settings {
            test_mode: false,
            require_token: true,
            ..Settings::in_memory()
        };
        assert!(insecure(&closed).is_empty());
        let listen = [0, 0, 0, 0].into();
        for (settings, part) in [
            (Settings::in_memory(), "--test-mode"),
            (Settings::in_memory(), "/dcb/cleanup"),
            (
                Settings {
                    require_token: false,
                    ..closed.clone()
                },
                "--require-token",
            ),
            (
                Settings {
                    listen,
                    ..closed.clone()
                },
                "TLS",
            ),
            (
                Settings {
                    allow_cleanup: true,
                    ..closed.clone()
                },
                "/dcb/cleanup",
            ),
            (
                Settings {
                    token: Some("foo".to_owned()),
                    ..closed.clone()
                },
                "--token",
            ),
            (
                Settings {
                    admin_token: Some("fifteen letters".to_owned()),
                    ..closed.clone()
                },
                "--admin-token",
            ),
            (
                Settings {
                    enable_admin_api: true,
                    ..closed
                },
                "delete_series",
            ),
        ] {
            let dangers = insecure(&settings);
            assert!(
                dangers.iter().any(|danger| danger.contains(part)),
                "{part}: {dangers:?}"
            );
        }
    }
}
