//! Every read of a store upcasts old versions of an event's data to the current one.

use crate::support::events::whole_log;
use dcb_core::{
    AppendCondition, DecisionModel, Error, Event, EventStore, MemoryStore, Position, Projector,
    Query, ReadOptions, SequencedEvent, SubscribeOptions, Upcasting, Upcasts, Versions,
    sqlite::{self, SqliteStore},
};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct PriceV1 {
    euros: u64,
}

#[derive(Serialize, Deserialize)]
struct PriceV2 {
    cents: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Price {
    amount: u64,
    currency: String,
}

fn price() -> Versions<Price> {
    Versions::first()
        .then(|old: PriceV1| PriceV2 {
            cents: old.euros * 100,
        })
        .then(|old: PriceV2| Price {
            amount: old.cents,
            currency: "EUR".to_owned(),
        })
}

fn upcasts() -> Upcasts {
    Upcasts::new().of("Priced", price())
}

/// One event of each version, all worth 200 cents, and one of a type without versions.
fn events() -> Vec<Event> {
    let priced = |data: &str| Event::builder("Priced").tag("product:1").data(data);
    let other = Event::builder("Other").tag("product:1").data("not JSON");
    let built = [
        priced(r#"{"euros":2}"#),
        priced(r#"{"cents":200}"#)
            .correlation_id("request")
            .version(2),
        priced(r#"{"amount":200,"currency":"EUR"}"#).version(3),
        other,
    ];
    built.map(|event| event.build().unwrap()).to_vec()
}

fn priced() -> Query {
    let query = Query::builder().event_type("Priced").tag("product:1");
    query.build().unwrap()
}

/// The sum of the amounts. The projector knows only the current version.
fn worth() -> Projector<u64> {
    Projector::new(priced(), 0, |sum, event| {
        *sum += event.json::<Price>().unwrap().amount;
    })
}

async fn assert_every_read_upcasts(store: impl EventStore + Clone + 'static) {
    let store = Upcasting::new(store, upcasts());
    store.append(events()).await.unwrap();

    let all = store
        .query(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    assert_current(&all.events);
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new().backwards())
        .await
        .unwrap();
    let mut streamed = Vec::new();
    while let Some(event) = stream.next().await {
        streamed.push(event.unwrap());
    }
    streamed.reverse();
    assert_eq!(streamed, all.events);

    assert_eq!(store.project(&worth()).await.unwrap().state, 600);
    let after = Position::FIRST;
    let projection = worth();
    let stream = store.project_stream(&projection, after).await.unwrap();
    assert_eq!(stream.finish().await.unwrap().state, 400);

    let mut live = store.subscribe(Query::all(), None, SubscribeOptions::new());
    for expected in &all.events {
        assert_eq!(&live.next().await.unwrap().unwrap(), expected);
    }

    let decided = DecisionModel::new(worth())
        .decide(&store, |worth| {
            assert_eq!(worth, 600);
            Ok::<_, Error>(vec![Event::builder("Sold").build()?])
        })
        .await;
    assert_eq!(decided.unwrap().attempts, 1);
}

fn assert_current(events: &[SequencedEvent]) {
    let (versioned, other) = events.split_at(3);
    for event in versioned {
        assert_eq!(event.version(), 3, "{event:?}");
        let expected = Price {
            amount: 200,
            currency: "EUR".to_owned(),
        };
        assert_eq!(event.json::<Price>().unwrap(), expected);
        assert!(event.has_tag("product:1"));
    }
    assert_eq!(
        versioned[1].metadata_value(Event::CORRELATION_ID),
        Some("request")
    );
    assert_eq!((other[0].version(), other[0].data()), (1, &b"not JSON"[..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_store_upcasts_every_read() {
    assert_every_read_upcasts(std::sync::Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_store_upcasts_every_read() {
    let store = SqliteStore::open(sqlite::Config::memory()).await.unwrap();
    assert_every_read_upcasts(store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_store_upcasts_every_read() {
    assert_every_read_upcasts(crate::support::postgres::fresh_store().await).await;
}

#[tokio::test]
async fn stored_events_and_conditions_are_not_upcast() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    let given = events();
    store.append(given.clone()).await.unwrap();
    let stored = whole_log(store.inner()).await;
    for (stored, given) in stored.iter().zip(&given) {
        assert!(stored.has_content_of(given));
    }
    let refused = store
        .append_if(given[3].clone(), AppendCondition::fail_if(priced()))
        .await;
    assert!(matches!(refused, Err(Error::Conflict { position, .. }) if position.get() == 1));
    assert_eq!(store.count(&priced()).await.unwrap(), 3);
}

#[tokio::test]
async fn event_of_any_version_is_read_as_the_current_type() {
    let store = MemoryStore::new();
    store.append(events()).await.unwrap();
    let read = store.query(&priced(), ReadOptions::new()).await.unwrap();
    let versions = price();
    for event in &read.events {
        assert_eq!(versions.read(event).unwrap().amount, 200);
    }
    assert_eq!(versions.current(), 3);
}

#[tokio::test]
async fn failed_upcast_names_the_event() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    let wrong = |event: dcb_core::EventBuilder| event.tag("product:2").build().unwrap();
    let events = [
        wrong(Event::builder("Priced").data(r#"{"cents":1}"#)),
        wrong(Event::builder("Priced").data("{}").version(4)),
        wrong(Event::builder("Priced").data("{}").version(0)),
    ];
    store.append(events).await.unwrap();
    let read = async |position| {
        let from = ReadOptions::new().from(Position::new(position)).limit(1);
        store.query(&Query::all(), from).await.unwrap_err()
    };
    let shape = read(1).await;
    assert!(
        matches!(shape, Error::Upcast { position, version: 1, .. } if position.get() == 1),
        "{shape}"
    );
    let newer = read(2).await;
    assert!(
        matches!(
            newer,
            Error::VersionTooNew {
                found: 4,
                supported: 3,
                ..
            }
        ),
        "{newer}"
    );
    // Version 0 does not exist and is read as the first version.
    assert!(matches!(read(3).await, Error::Upcast { .. }));
}

/// A reader that continued after the error would miss an event.
#[tokio::test]
async fn failed_upcast_ends_the_stream() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    let wrong = Event::builder("Priced").tag("product:1").data("{}").build();
    let mut given = events();
    given.insert(1, wrong.unwrap());
    store.append(given).await.unwrap();
    let mut stream = store
        .query_stream(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    let failed = stream.next().await.unwrap();
    assert!(matches!(failed, Err(Error::Upcast { .. })), "{failed:?}");
    assert!(stream.next().await.is_none());
}

fn amounts() -> Projector<Vec<u64>> {
    Projector::new(priced(), Vec::new(), |amounts: &mut Vec<u64>, event| {
        amounts.push(event.json::<Price>().map_or(0, |price| price.amount));
    })
}

/// Decides on the amounts, and appends these events.
async fn decide_on_amounts<S: EventStore + Clone + 'static>(
    store: &S,
    events: Vec<Event>,
) -> Result<Vec<u64>, Error> {
    let mut seen = Vec::new();
    let decide = |amounts| {
        seen = amounts;
        Ok::<_, Error>(events.clone())
    };
    DecisionModel::new(amounts()).decide(store, decide).await?;
    Ok(seen)
}

/// The lanes of the inner store know the same events as they were appended.
#[tokio::test]
async fn warm_decisions_see_upcast_events() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    for round in 0..3 {
        let seen = decide_on_amounts(&store, events()).await.unwrap();
        assert_eq!(seen, vec![200; 3 * round]);
        let raw = decide_on_amounts(store.inner(), Vec::new()).await.unwrap();
        assert_eq!(raw.iter().sum::<u64>(), 200 * (round as u64 + 1));
    }
    // The second and the third decision of the wrapping store.
    assert!(store.stats().lane_hits >= 2);
    store.inner().clear().unwrap();
    assert!(
        decide_on_amounts(&store, Vec::new())
            .await
            .unwrap()
            .is_empty()
    );
}

/// A lane that kept the event as it was appended would hide what a read tells.
#[tokio::test]
async fn warm_decision_meets_an_event_that_can_not_be_upcast() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    let wrong = Event::builder("Priced").tag("product:1").data("{}").build();
    decide_on_amounts(&store, events()).await.unwrap();
    decide_on_amounts(&store, vec![wrong.unwrap()])
        .await
        .unwrap();
    for _ in 0..2 {
        let failed = decide_on_amounts(&store, Vec::new()).await;
        assert!(matches!(failed, Err(Error::Upcast { .. })), "{failed:?}");
    }
}

/// A kept state is of the events as this store returns them.
#[tokio::test]
async fn kept_states_are_of_upcast_events() {
    let store = Upcasting::new(MemoryStore::new(), upcasts());
    let total = || {
        let add = |total: &mut u64, event: &SequencedEvent| {
            *total += event.json::<Price>().map_or(0, |price| price.amount);
        };
        Projector::new(priced(), 0, add).keep("total", 1)
    };
    for round in 0..50 {
        let mut seen = [0, 0];
        for (seen, events) in seen.iter_mut().zip([events(), Vec::new()]) {
            let decide = |total| {
                *seen = total;
                Ok::<_, Error>(events.clone())
            };
            DecisionModel::new(total())
                .decide(&store, decide)
                .await
                .unwrap();
        }
        assert_eq!(seen, [600 * round, 600 * (round + 1)]);
        let mut raw = 0;
        let decide = |total| {
            raw = total;
            Ok::<_, Error>(Vec::new())
        };
        DecisionModel::new(total())
            .decide(store.inner(), decide)
            .await
            .unwrap();
        assert_eq!(raw, 200 * (round + 1));
    }
}
