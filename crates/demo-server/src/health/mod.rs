//! Health checks. A background task probes the stores, so a request only reads the last result and
//! costs no store access. Whether a store takes writes is learned from the writes of clients: a
//! failure for a reason of the server is kept until the next write succeeds. Tests:
//! `tests/it/health.rs`, `tests/it/server.rs` and the module `tests` below.

mod ask;
mod cause;
mod listener;
mod probe;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use store_http::{ApiError, Watch};

pub(crate) use ask::ask;
pub(crate) use cause::{Cause, Refusal};
pub(crate) use listener::Listener;
pub(crate) use probe::watch;

/// A store, as the health checks and metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Events,
    Messages,
    Series,
}

impl Store {
    pub(crate) const ALL: [Self; 3] = [Self::Events, Self::Messages, Self::Series];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Messages => "messages",
            Self::Series => "series",
        }
    }
}

/// What is known of the stores.
#[derive(Debug, Default)]
pub(crate) struct Health {
    stores: [Known; 3],
}

/// What is known of one store. The orderings are relaxed, because no other data depends on it.
#[derive(Debug, Default)]
struct Known {
    /// Whether the store answered the last probe.
    answers: AtomicBool,
    /// Whether the log has the failure of the last probe, or of one before it.
    is_silent: AtomicBool,
    /// The number of the [`Cause`] for which the last write failed; 0 if it succeeded.
    refuses: AtomicU8,
    /// The session that hears of other processes, as of the last probe.
    listener: Mutex<Option<Listener>>,
}

impl Health {
    /// Whether all stores answered the last probe.
    pub(crate) fn answers(&self) -> bool {
        Store::ALL
            .into_iter()
            .all(|store| self.store_answers(store))
    }

    /// Whether a store answered the last probe.
    pub(crate) fn store_answers(&self, store: Store) -> bool {
        self.state(store).answers.load(Ordering::Relaxed)
    }

    /// Why a store takes no writes, or `None` if the last write did not fail for such a cause.
    pub(crate) fn refusal(&self, store: Store) -> Option<Cause> {
        Cause::of_number(self.state(store).refuses.load(Ordering::Relaxed))
    }

    /// Learns from a write that succeeded or failed. A failure without a cause changes nothing.
    pub(crate) fn wrote(&self, store: Store, failed: Option<&impl Refusal>) {
        let number = match failed {
            None => 0,
            Some(failed) => match failed.cause() {
                Some(cause) => cause as u8,
                None => return,
            },
        };
        let refuses = &self.state(store).refuses;
        // Reading first keeps the cache line shared between the processors, because almost all
        // writes succeed.
        if refuses.load(Ordering::Relaxed) == number {
            return;
        }
        refuses.store(number, Ordering::Relaxed);
        match Cause::of_number(number) {
            Some(cause) => tracing::error!(
                store = store.name(),
                cause = cause.text(),
                "a store takes no writes"
            ),
            None => tracing::warn!(store = store.name(), "a store takes writes again"),
        }
    }

    fn answered(&self, store: Store, answers: bool) {
        self.state(store).answers.store(answers, Ordering::Relaxed);
    }

    fn state(&self, store: Store) -> &Known {
        &self.stores[store as usize]
    }

    /// A 200 with this status, or with `degraded` and the causes; a 503 if a store does not answer.
    ///
    /// A store that takes no writes is no 503: a load balancer would send no more writes, and the
    /// next success could not be seen. A lost listener changes no status: writes of other
    /// processes are delivered late, but nothing fails.
    fn response(&self, healthy: &'static str) -> Response {
        if !self.answers() {
            return self.unhealthy().into_response();
        }
        let causes = self.causes();
        let mut body = match causes.is_empty() {
            true => json!({ "status": healthy }),
            false => json!({ "status": "degraded", "takesNoWrites": causes }),
        };
        let listeners = self.listeners();
        if !listeners.is_empty() {
            body["listeners"] = listeners.into();
        }
        json_response(&body)
    }

    /// The causes by the name of the store.
    fn causes(&self) -> Map<String, Value> {
        let stores = Store::ALL.into_iter();
        stores
            .filter_map(|store| Some((store.name().to_owned(), self.refusal(store)?.text().into())))
            .collect()
    }

    fn unhealthy(&self) -> ApiError {
        let silent = Store::ALL
            .into_iter()
            .filter(|store| !self.store_answers(*store));
        let silent: Vec<_> = silent.map(Store::name).collect();
        ApiError {
            code: "UNHEALTHY",
            details: Some(json!({ "stores": silent })),
            ..ApiError::overloaded("a store did not answer its health check")
        }
    }
}

impl Watch for Health {
    fn wrote_events(&self, failed: Option<&dcb_core::Error>) {
        self.wrote(Store::Events, failed);
    }

    fn wrote_messages(&self, failed: Option<&message_store::Error>) {
        self.wrote(Store::Messages, failed);
    }

    fn stores_answer(&self) -> bool {
        self.answers()
    }
}

fn json_response(body: &Value) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

/// The checks at the paths that clients of each interface expect.
pub(crate) fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    Arc<Health>: FromRef<S>,
{
    Router::new()
        .route("/health", any(ok))
        .route("/livez", any(alive))
        .route("/readyz", any(ready))
        .route("/dcb/health", any(ok))
        .route("/series/health", any(healthy))
        .route("/-/healthy", get(alive))
        .route("/-/ready", get(ready))
}

/// `GET /health` and `GET /dcb/health`.
pub(crate) async fn ok(State(health): State<Arc<Health>>) -> Response {
    health.response("ok")
}

/// `GET /series/health`.
async fn healthy(State(health): State<Arc<Health>>) -> Response {
    health.response("healthy")
}

/// `GET /livez` and `GET /-/healthy`: the process answers. An outage of a database must not restart
/// it, so the stores are not asked.
async fn alive() -> &'static str {
    "Registrar is healthy.\n"
}

/// `GET /readyz` and `GET /-/ready`: the stores answer.
async fn ready(State(health): State<Arc<Health>>) -> Response {
    match health.answers() {
        true => "Registrar is ready.\n".into_response(),
        false => health.unhealthy().into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn all_answer() -> Health {
        let health = Health::default();
        Store::ALL
            .into_iter()
            .for_each(|store| health.answered(store, true));
        health
    }

    #[test]
    fn silent_store_is_503_with_its_name_and_retry_after() {
        let health = all_answer();
        health.answered(Store::Messages, false);
        let response = health.response("ok");
        let error = response.extensions().get::<ApiError>().expect("an error");
        assert_eq!(error.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(error.code, "UNHEALTHY");
        assert_eq!(error.retry_after_s, Some(1));
        assert_eq!(error.details, Some(json!({ "stores": ["messages"] })));
    }

    #[test]
    fn cause_stays_until_the_next_success() {
        let health = all_answer();
        let write = |result: Result<(), dcb_core::Error>| {
            health.wrote(Store::Events, result.as_ref().err());
            health.refusal(Store::Events)
        };
        assert_eq!(
            write(Err(dcb_core::Fault::Closed.into())),
            Some(Cause::Closed)
        );
        // A fault of the request tells nothing about the store.
        let id = uuid::Uuid::nil();
        let fault = dcb_core::Error::DuplicateId { id };
        assert_eq!(write(Err(fault)), Some(Cause::Closed));
        assert_eq!(
            health.causes(),
            *json!({ "events": "it is closed" })
                .as_object()
                .expect("it is one")
        );
        assert!(health.answers());
        assert_eq!(write(Ok(())), None);
    }

    #[test]
    fn lost_listener_is_shown_and_leaves_the_status() {
        let health = all_answer();
        let lost = Listener {
            lost_since: Some(std::time::UNIX_EPOCH),
            replacements: 2,
        };
        *health.state(Store::Messages).listener.lock() = Some(lost);
        assert_eq!(health.response("ok").status(), StatusCode::OK);
        let shown =
            json!({ "hears": false, "lostSince": "1970-01-01T00:00:00Z", "replacements": 2 });
        assert_eq!(
            Value::from(health.listeners()),
            json!({ "messages": shown })
        );
    }
}
