//! The errors of both stores as answers of a web service.
//!
//! | Error | Answer | The client |
//! |---|---|---|
//! | another request was faster | 409 | reads again and decides again |
//! | the request is not valid | 422 | corrects it |
//! | a store is busy or down, nothing was written | 503 with `Retry-After` | repeats it |
//! | the outcome is unknown | 500 with the ids | repeats it with the same ids |
//! | anything else | 500, and a line in the log | reports it |
//!
//! A fault of the database is the same type in both stores, so one function answers it.
//!
//! ```text
//! cargo run -p demo-server --example errors
//! curl -i -X POST localhost:8081/names/ada
//! curl -i -X POST localhost:8081/accounts/ada
//! ```

use std::fmt::Display;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use dcb_core::{AppendCondition, Event, EventStore as _, Fault};
use message_store::{ExpectedVersion, Message, MessageStore as _, StreamName};
use serde_json::{Value, json};
use uuid::Uuid;

/// A handler that returns `Result<_, Failed>` can use `?` on each call of either store.
struct Failed(StatusCode, Value);

impl From<dcb_core::Error> for Failed {
    fn from(error: dcb_core::Error) -> Self {
        use dcb_core::Error;
        match &error {
            Error::Conflict { .. } | Error::AlreadyTracked { .. } => conflict(&error),
            Error::Invalid { .. } | Error::DuplicateId { .. } => invalid(&error),
            Error::OutcomeUnknown { ids } => unknown(&error, ids),
            // Too many decisions in one place. The client can't tell that from a store that is down.
            Error::RetriesExhausted { .. } | Error::TooManyProjections { .. } => busy(&error),
            Error::Fault(fault) => of_fault(fault),
            _ => internal(&error),
        }
    }
}

impl From<message_store::Error> for Failed {
    fn from(error: message_store::Error) -> Self {
        use message_store::Error;
        match &error {
            Error::WrongExpectedVersion { .. } => conflict(&error),
            Error::Invalid { .. } | Error::DuplicateId { .. } => invalid(&error),
            Error::OutcomeUnknown { ids } => unknown(&error, ids),
            Error::Fault(fault) => of_fault(fault),
            _ => internal(&error),
        }
    }
}

fn conflict(error: &dyn Display) -> Failed {
    Failed(StatusCode::CONFLICT, json!({ "error": error.to_string() }))
}

fn invalid(error: &dyn Display) -> Failed {
    let body = json!({ "error": error.to_string() });
    Failed(StatusCode::UNPROCESSABLE_ENTITY, body)
}

fn unknown(error: &dyn Display, ids: &[Uuid]) -> Failed {
    let body = json!({ "error": error.to_string(), "ids": ids });
    Failed(StatusCode::INTERNAL_SERVER_ERROR, body)
}

fn of_fault(fault: &Fault) -> Failed {
    match fault.is_transient() {
        true => busy(fault),
        false => internal(fault),
    }
}

/// The text may name hosts, so it goes to the log.
fn busy(error: &dyn Display) -> Failed {
    tracing::warn!(%error, "a request was not served");
    let body = json!({ "error": "busy; nothing was written, try again" });
    Failed(StatusCode::SERVICE_UNAVAILABLE, body)
}

fn internal(error: &dyn Display) -> Failed {
    tracing::error!(%error, "a request failed");
    let body = json!({ "error": "internal error; see the log" });
    Failed(StatusCode::INTERNAL_SERVER_ERROR, body)
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let Self(status, body) = self;
        let retry =
            (status == StatusCode::SERVICE_UNAVAILABLE).then_some([(header::RETRY_AFTER, "1")]);
        (status, retry, Json(body)).into_response()
    }
}

#[derive(Clone)]
struct Stores {
    events: dcb_core::AnyStore,
    messages: message_store::AnyStore,
}

/// Takes a name, which one request can have.
async fn take_name(
    State(stores): State<Stores>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failed> {
    let taken = Event::builder("NameTaken")
        .tag_pair("name", &name)
        .build()?;
    let free = AppendCondition::fail_if_exists("name", &name)?;
    stores.events.append_if(taken, free).await?;
    Ok(StatusCode::CREATED)
}

/// Opens an account, once.
async fn open_account(
    State(stores): State<Stores>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failed> {
    let stream = StreamName::new(format!("account-{name}"))?;
    let opened = Message::builder("Opened").build()?;
    let write = stores
        .messages
        .write_message(&stream, opened, ExpectedVersion::NoStream);
    write.await?;
    Ok(StatusCode::CREATED)
}

fn service(stores: Stores) -> Router {
    Router::new()
        .route("/names/{name}", post(take_name))
        .route("/accounts/{name}", post(open_account))
        .with_state(stores)
}

async fn in_memory() -> Result<Stores, Box<dyn std::error::Error>> {
    Ok(Stores {
        events: dcb_core::AnyStore::open("memory:").await?,
        messages: message_store::AnyStore::open("memory:").await?,
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, service(in_memory().await?)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::Request;
    use dcb_core::{Position, Reason};
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(service: &Router, path: &str) -> StatusCode {
        let request = Request::post(path);
        let request = request.body(Body::empty()).unwrap();
        service.clone().oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn requests_get_the_status_of_their_error() {
        let stores = in_memory().await.unwrap();
        let service = service(stores.clone());
        for path in ["/names", "/accounts"] {
            let ada = format!("{path}/ada");
            assert_eq!(ask(&service, &ada).await, StatusCode::CREATED);
            assert_eq!(ask(&service, &ada).await, StatusCode::CONFLICT);
            let long = format!("{path}/{}", "x".repeat(2000));
            assert_eq!(ask(&service, &long).await, StatusCode::UNPROCESSABLE_ENTITY);
        }
        stores.events.close().await;
        stores.messages.close().await;
        for path in ["/names/bob", "/accounts/bob"] {
            let closed = ask(&service, path).await;
            assert_eq!(closed, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        }
    }

    async fn answer(failed: impl Into<Failed>) -> (u16, Option<String>, Value) {
        let response = failed.into().into_response();
        let retry = response.headers().get(header::RETRY_AFTER);
        let retry = retry.map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, retry, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn crowd_is_busy() {
        for error in [
            dcb_core::Error::RetriesExhausted {
                attempts: 3,
                position: Position::FIRST,
            },
            dcb_core::Error::TooManyProjections { max: 1, current: 1 },
        ] {
            let (status, retry, _) = answer(error).await;
            assert_eq!((status, retry.as_deref()), (503, Some("1")));
        }
    }

    #[tokio::test]
    async fn both_stores_answer_faults_and_unknown_outcomes_alike() {
        let timed_out = Fault::TimedOut {
            operation: "append",
            limit: Duration::from_secs(5),
        };
        for fault in [
            timed_out,
            Fault::Unreachable(Reason::new("10.0.0.7 refused")),
        ] {
            let of_events = answer(dcb_core::Error::from(fault.clone())).await;
            let (status, retry, body) = &of_events;
            assert_eq!((*status, retry.as_deref()), (503, Some("1")));
            assert!(!body.to_string().contains("10.0.0.7"), "{body}");
            assert_eq!(answer(message_store::Error::from(fault)).await, of_events);
        }
        let (status, _, body) = answer(dcb_core::Error::from(Fault::Panicked)).await;
        assert_eq!(
            (status, &body["error"]),
            (500, &json!("internal error; see the log"))
        );
        let ids = vec![Uuid::now_v7(), Uuid::now_v7()];
        let of_events = dcb_core::Error::OutcomeUnknown { ids: ids.clone() };
        let of_messages = message_store::Error::OutcomeUnknown { ids: ids.clone() };
        for (status, retry, body) in [answer(of_events).await, answer(of_messages).await] {
            assert_eq!((status, retry), (500, None));
            assert_eq!(body["ids"], json!(ids));
        }
    }
}
