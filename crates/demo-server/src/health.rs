//! Health checks. A background task probes the stores, so a request only reads the last result and
//! costs no store access. Tests: `tests/it/server.rs` and the module `tests` below.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use dcb_core::EventStore as _;
use message_store::Namespaces as _;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::error::ApiError;
use crate::stores::{Stores, default_name};

/// Interval between probes.
const EVERY: Duration = Duration::from_secs(1);
/// Time limit of one probe.
const LIMIT: Duration = Duration::from_secs(2);

/// The result of the last probe.
#[derive(Debug, Default)]
pub(crate) struct Health {
    answers: AtomicBool,
}

impl Health {
    /// Probes all stores.
    pub(crate) async fn probe(&self, stores: &Stores) {
        // A store that hangs must not stop the probes, or the last result would stay forever.
        let found = tokio::time::timeout(LIMIT, ask(stores)).await;
        let answers = match found {
            Ok(Ok(())) => true,
            Ok(Err(failed)) => {
                tracing::warn!(failed, "a store failed its health check");
                false
            }
            Err(_) => {
                tracing::warn!("the health check took longer than {LIMIT:?}");
                false
            }
        };
        // Relaxed: no other data depends on the flag.
        self.answers.store(answers, Ordering::Relaxed);
    }

    /// Whether all stores answered the last probe.
    pub(crate) fn answers(&self) -> bool {
        self.answers.load(Ordering::Relaxed)
    }

    /// A 200 with this body, or a 503.
    fn response(&self, healthy: &'static str) -> Response {
        if self.answers() {
            ([(header::CONTENT_TYPE, "application/json")], healthy).into_response()
        } else {
            let unhealthy = ApiError {
                code: "UNHEALTHY",
                ..ApiError::overloaded("a store did not answer its health check")
            };
            unhealthy.into_response()
        }
    }
}

async fn ask(stores: &Stores) -> Result<(), String> {
    let events = stores.events.health().await;
    events.map_err(|failed| format!("events: {failed}"))?;
    // One lookup is enough, even of a missing namespace. Listing would open every namespace.
    match stores.messages.get(&default_name()).await {
        Ok(_) | Err(message_store::Error::NamespaceNotFound { .. }) => {}
        Err(failed) => return Err(format!("messages: {failed}")),
    }
    if let Some(failed) = &stores.series_failed {
        return Err(format!("series: {failed}"));
    }
    // A failed log refuses to sync. Syncing waits for the disk, so it runs on a blocking thread.
    let series = stores.series.clone();
    let synced = tokio::task::spawn_blocking(move || series.sync()).await;
    let synced = synced.map_err(|failed| format!("series: {failed}"))?;
    synced.map_err(|failed| format!("series: {failed}"))
}

/// Probes at each tick until the server stops.
pub(crate) async fn watch(
    health: Arc<Health>,
    stores: Arc<Stores>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut ticks = tokio::time::interval(EVERY);
    // A slow store gets a full interval of rest after each probe.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        health.probe(&stores).await;
    }
}

/// `GET /health` and `GET /dcb/health`.
pub(crate) async fn ok(State(health): State<Arc<Health>>) -> Response {
    health.response(r#"{"status":"ok"}"#)
}

/// `GET /series/health`.
pub(crate) async fn healthy(State(health): State<Arc<Health>>) -> Response {
    health.response(r#"{"status":"healthy"}"#)
}

/// `GET /-/healthy`: the process answers.
pub(crate) async fn alive() -> &'static str {
    "Registrar is healthy.\n"
}

/// `GET /-/ready`: the stores answer.
pub(crate) async fn ready(State(health): State<Arc<Health>>) -> Response {
    match health.answers() {
        true => "Registrar is ready.\n".into_response(),
        false => health.response(""),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn unhealthy_store_answers_503_with_retry_after() {
        let response = Health::default().response("{}");
        let error = response.extensions().get::<ApiError>().expect("an error");
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(error.code, "UNHEALTHY");
        assert_eq!(error.retry_after_s, Some(1));
    }
}
