//! The errors of a store as answers of a web service.
//!
//! | Error | Answer | The client |
//! |---|---|---|
//! | another request was faster | 409 | reads again and decides again |
//! | the request is not valid | 422 | corrects it |
//! | the store is busy or down, nothing was written | 503 with `Retry-After` | repeats it |
//! | the outcome is unknown | 500 with the ids | repeats it with the same ids |
//! | anything else | 500, and a line in the log | reports it |
//!
//! ```text
//! cargo run -p demo-server --example errors
//! curl -i -X POST localhost:8081/names/ada
//! ```

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use dcb_core::{AnyStore, AppendCondition, Error, Event, EventStore};
use serde_json::json;

/// A handler that returns `Result<_, Failed>` can use `?` on each call of a store.
struct Failed(Error);

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let body = |error: &Error| Json(json!({ "error": error.to_string() }));
        match &self.0 {
            error @ (Error::Conflict { .. } | Error::AlreadyTracked { .. }) => {
                (StatusCode::CONFLICT, body(error)).into_response()
            }
            error @ (Error::Invalid { .. } | Error::DuplicateId { .. }) => {
                (StatusCode::UNPROCESSABLE_ENTITY, body(error)).into_response()
            }
            Error::OutcomeUnknown { ids } => {
                let body = json!({ "error": self.0.to_string(), "ids": ids });
                (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
            }
            // A crowd in one place and a store that is down differ for the operator only. The text may
            // name hosts, so it goes to the log.
            Error::RetriesExhausted { .. } | Error::TooManyProjections { .. } => busy(&self.0),
            error if error.is_transient() => busy(error),
            error => {
                tracing::error!(%error, "a request failed");
                let body = json!({ "error": "internal error; see the log" });
                (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
            }
        }
    }
}

fn busy(error: &Error) -> Response {
    tracing::warn!(%error, "a request was not served");
    let body = Json(json!({ "error": "busy; nothing was written, try again" }));
    let retry = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, retry, body).into_response()
}

/// Takes a name, which one request can have.
async fn take_name(
    State(store): State<AnyStore>,
    Path(name): Path<String>,
) -> Result<StatusCode, Failed> {
    let taken = Event::builder("NameTaken")
        .tag_pair("name", &name)
        .build()?;
    let free = AppendCondition::fail_if_exists("name", &name)?;
    store.append_if(taken, free).await?;
    Ok(StatusCode::CREATED)
}

fn service(store: AnyStore) -> Router {
    let names = Router::new().route("/names/{name}", post(take_name));
    names.with_state(store)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = AnyStore::open("memory:").await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, service(store)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::Request;
    use dcb_core::{Fault, Position, Reason};
    use http_body_util::BodyExt as _;
    use serde_json::Value;
    use tower::ServiceExt as _;
    use uuid::Uuid;

    use super::*;

    async fn ask(service: &Router, name: &str) -> StatusCode {
        let request = Request::post(format!("/names/{name}"));
        let request = request.body(Body::empty()).unwrap();
        service.clone().oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn requests_get_the_status_of_their_error() {
        let store = AnyStore::open("memory:").await.unwrap();
        let service = service(store.clone());
        assert_eq!(ask(&service, "ada").await, StatusCode::CREATED);
        assert_eq!(ask(&service, "ada").await, StatusCode::CONFLICT);
        let long = "x".repeat(2000);
        assert_eq!(ask(&service, &long).await, StatusCode::UNPROCESSABLE_ENTITY);
        store.close().await;
        assert_eq!(
            ask(&service, "bob").await,
            StatusCode::INTERNAL_SERVER_ERROR
        );
    }

    async fn answer(error: Error) -> (u16, Option<String>, Value) {
        let response = Failed(error).into_response();
        let retry = response.headers().get(header::RETRY_AFTER);
        let retry = retry.map(|value| value.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, retry, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn busy_and_unknown_tell_the_client_what_to_do() {
        let limit = Duration::from_secs(5);
        let position = Position::new(7).unwrap();
        let reason = Reason::new("10.0.0.7 refused");
        for error in [
            Error::Fault(Fault::TimedOut {
                operation: "append",
                limit,
            }),
            Error::Fault(Fault::Unreachable(reason)),
            Error::RetriesExhausted {
                attempts: 3,
                position,
            },
            Error::TooManyProjections { max: 1, current: 1 },
        ] {
            let (status, retry, body) = answer(error).await;
            assert_eq!((status, retry.as_deref()), (503, Some("1")));
            assert!(!body.to_string().contains("10.0.0.7"), "{body}");
        }
        let ids = vec![Uuid::now_v7(), Uuid::now_v7()];
        let (status, retry, body) = answer(Error::OutcomeUnknown { ids: ids.clone() }).await;
        assert_eq!((status, retry), (500, None));
        assert_eq!(body["ids"], json!(ids));
        let (status, _, body) = answer(Error::Fault(Fault::Panicked)).await;
        assert_eq!(
            (status, &body["error"]),
            (500, &json!("internal error; see the log"))
        );
    }
}
