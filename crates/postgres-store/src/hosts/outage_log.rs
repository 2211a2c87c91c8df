//! Logs that a server can't be reached, and that it can be again.

use std::fmt::Display;
use std::time::Instant;

use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;

use crate::limiter::Limiter;

/// Whether the hosts of a URL can be reached, as the attempts of all sessions of a store show.
#[derive(Debug, Default)]
pub(super) struct OutageLog {
    state: Mutex<State>,
    limiter: Limiter,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// No attempt has succeeded yet. A failure is the answer to its caller, so it is not logged.
    #[default]
    Untried,
    Reached {
        at: Instant,
    },
    Lost {
        since: Instant,
        is_told: bool,
    },
}

impl OutageLog {
    /// Notes that an attempt failed that began at this time.
    pub(super) fn lost(&self, server: &PgConnectOptions, begun: Instant, cause: &dyn Display) {
        let mut state = self.state.lock();
        // An attempt from before the last success tells nothing about the time after it.
        if !matches!(*state, State::Reached { at } if at <= begun) {
            return;
        }
        let admitted = self.limiter.admit();
        *state = State::Lost {
            since: Instant::now(),
            is_told: admitted.is_some(),
        };
        drop(state);
        if let Some(suppressed) = admitted {
            tracing::warn!(
                host = host_or_socket(server),
                port = server.get_port(),
                database = server.get_database(),
                application = server.get_application_name(),
                %cause,
                suppressed,
                "PostgreSQL can't be reached"
            );
        }
    }

    /// Notes that an attempt succeeded.
    pub(super) fn reached(&self, server: &PgConnectOptions) {
        let reached = State::Reached { at: Instant::now() };
        let before = std::mem::replace(&mut *self.state.lock(), reached);
        if let State::Lost {
            since,
            is_told: true,
        } = before
        {
            tracing::info!(
                host = host_or_socket(server),
                port = server.get_port(),
                database = server.get_database(),
                application = server.get_application_name(),
                after = ?since.elapsed(),
                "PostgreSQL can be reached again"
            );
        }
    }
}

/// The name of a host, or the path of its socket.
pub(crate) fn host_or_socket(server: &PgConnectOptions) -> String {
    let socket = server.get_socket().map(|path| path.display().to_string());
    socket.unwrap_or_else(|| server.get_host().to_owned())
}
