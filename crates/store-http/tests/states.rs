//! `GET /dcb/states` with projections of a service.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use dcb_core::{AnyStore, Error, Event, EventStore as _, Projector, SequencedEvent};
use serde_json::{Value, json};
use store_http::dcb::{self, Options, States};
use store_http::{Limits, Service};
use tower::ServiceExt as _;

/// The last price of a product.
fn price(product: &str) -> Result<Projector<Option<u64>>, Error> {
    let price = Projector::builder(None).on_json("Priced", |price, new| *price = Some(new));
    price.tag_pair("product", product).last_only().build()
}

/// The positions of the events of a product.
fn events(product: &str) -> Result<Projector<Vec<u64>>, Error> {
    let seen = |seen: &mut Vec<u64>, event: &SequencedEvent| seen.push(event.position().get());
    let events = Projector::builder(Vec::new()).on("Priced", seen);
    events.tag_pair("product", product).build()
}

async fn app(states: States, number: u64) -> Router {
    let store = AnyStore::open("memory:").await.unwrap();
    for price in 1..=number {
        let priced = Event::builder("Priced").tag("product:p").json(&price);
        store.append(priced.build().unwrap()).await.unwrap();
    }
    let options = Options {
        states,
        ..Options::default()
    };
    let service = Service::new(&Limits::default(), Arc::new(()));
    let router = dcb::router(store, options, &service);
    service.protect(Router::new().nest("/dcb", router))
}

async fn get(app: &Router, path: &str) -> (StatusCode, Value) {
    let request = Request::get(format!("/dcb/states{path}")).body(Body::empty());
    let answer = app.clone().oneshot(request.unwrap()).await.unwrap();
    let status = answer.status();
    let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn no_projection_is_served_by_default() {
    let app = app(Options::default().states, 1).await;
    assert_eq!(get(&app, "").await, (StatusCode::OK, json!([])));
    let (status, _) = get(&app, "/price?key=p").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// A projection of the last event folds the last one up to the position.
#[tokio::test]
async fn state_of_the_last_event_is_that_of_its_position() {
    let app = app(States::new().with("price", price, |price| json!(price)), 5).await;
    for (at, last, next, price) in [
        (0, None, Some(1), None),
        (3, Some(3), Some(4), Some(3)),
        (5, Some(5), None, Some(5)),
    ] {
        let (_, found) = get(&app, &format!("/price?key=p&at={at}")).await;
        assert_eq!(found["state"], json!(price), "{at}");
        assert_eq!(found.get("lastPosition"), last.map(Value::from).as_ref());
        assert_eq!(found.get("nextPosition"), next.map(Value::from).as_ref());
    }
}

/// Without a limit, a request for a long history would take a slot for minutes.
#[tokio::test]
async fn state_of_more_events_than_allowed_is_refused() {
    let states = States::new().max_events(3);
    let states = states.with("events", events, |seen| json!(seen));
    let app = app(states, 4).await;
    let (status, found) = get(&app, "/events?key=p&at=3").await;
    assert_eq!(
        (status, &found["state"]),
        (StatusCode::OK, &json!([1, 2, 3]))
    );
    let (status, refused) = get(&app, "/events?key=p").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["code"], "TOO_MANY_EVENTS");
    assert_eq!(refused["details"], json!({ "max": 3 }));
}
