//! Whether the stores answer. They are asked in the background, so that a request costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use message_store::Namespaces as _;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::app::App;
use crate::error::ApiError;
use crate::messages::default_name;
use crate::stores::Stores;

/// How often the stores are asked.
const EVERY: Duration = Duration::from_secs(1);
/// How long one may take.
const LIMIT: Duration = Duration::from_secs(2);

/// What the last probe found.
#[derive(Debug, Default)]
pub(crate) struct Health {
    answers: AtomicBool,
}

impl Health {
    /// Asks all stores.
    pub(crate) async fn probe(&self, stores: &Stores) {
        let found = tokio::time::timeout(LIMIT, ask(stores)).await;
        let answers = match found {
            Ok(Ok(())) => true,
            Ok(Err(failed)) => {
                tracing::warn!(failed, "a store does not answer");
                false
            }
            Err(_) => {
                tracing::warn!("a store takes more than {LIMIT:?} to answer");
                false
            }
        };
        self.answers.store(answers, Ordering::Relaxed);
    }

    /// Whether all stores answered when they were asked last.
    pub(crate) fn answers(&self) -> bool {
        self.answers.load(Ordering::Relaxed)
    }

    /// An answer of 200 with this body, or 503.
    fn response(&self, healthy: &'static str) -> Response {
        if self.answers() {
            ([(header::CONTENT_TYPE, "application/json")], healthy).into_response()
        } else {
            let unhealthy = ApiError {
                code: "UNHEALTHY",
                ..ApiError::overloaded("a store does not answer")
            };
            unhealthy.into_response()
        }
    }
}

async fn ask(stores: &Stores) -> Result<(), String> {
    let events = stores.events.check().await;
    events.map_err(|failed| format!("events: {failed}"))?;
    // One namespace, whether it is there or not: to list them is to look into each.
    match stores.messages.get(&default_name()).await {
        Ok(_) | Err(message_store::Error::NamespaceNotFound { .. }) => {}
        Err(failed) => return Err(format!("messages: {failed}")),
    }
    // A log that failed refuses to be flushed, which waits for the disk.
    let series = stores.series.clone();
    let synced = tokio::task::spawn_blocking(move || series.sync()).await;
    let synced = synced.map_err(|failed| format!("series: {failed}"))?;
    synced.map_err(|failed| format!("series: {failed}"))
}

/// Probes until the server stops.
pub(crate) async fn watch(app: Arc<App>, mut stopped: watch::Receiver<bool>) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        app.health.probe(&app.stores).await;
    }
}

/// `GET /health` and `GET /dcb/health`.
pub(crate) async fn ok(State(app): State<Arc<App>>) -> Response {
    app.health.response(r#"{"status":"ok"}"#)
}

/// `GET /series/health`.
pub(crate) async fn healthy(State(app): State<Arc<App>>) -> Response {
    app.health.response(r#"{"status":"healthy"}"#)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn who_finds_a_store_silent_is_told_when_to_ask_again() {
        let response = Health::default().response("{}");
        let error = response.extensions().get::<ApiError>().expect("an error");
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(error.code, "UNHEALTHY");
        assert_eq!(error.retry_after_s, Some(1));
    }
}
