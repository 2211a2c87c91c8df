//! The messages have the order of the events, also if they go to many streams.

use conformance_suite::Random;
use dcb_core::{EventStore as _, ProjectionRunner, SequencedEvent};
use event_relay::Relay;
use message_store::{Message, MessageStore as _, StreamName};

use crate::support::Backend::{Postgres, Sqlite};
use crate::support::{Backend, Places, append, drawn, in_memory, numbers, query, relayed};

/// The streams to which the messages of an event go.
fn streams(event: &SequencedEvent) -> Vec<u64> {
    let number = event.tag_value("stream").and_then(|text| text.parse().ok());
    match number.expect("a stream") {
        0 => vec![],
        1 => vec![1, 2],
        2 => vec![2, 3, 1],
        stream => vec![stream],
    }
}

fn messages(event: &SequencedEvent) -> Vec<(StreamName, Message)> {
    let streams = streams(event).into_iter();
    let position = event.position().get();
    let message = |stream| {
        let message = Message::builder("Number").data(&position).build();
        let stream = StreamName::new(format!("number-{stream}"));
        (stream.expect("a name"), message.expect("a message"))
    };
    streams.map(message).collect()
}

async fn messages_have_the_order_of_the_events(backend: Backend) {
    let places = Places::new(backend, backend).await;
    let (events, target) = places.open().await;
    let mut random = Random::new(5);
    append(&events, (0..300).map(|_| drawn(random.below(6))).collect()).await;
    let relay = Relay::new(target.clone(), "all", |event| Ok(messages(event))).expect("a name");
    let mut runner = ProjectionRunner::new(events.clone(), query(), relay);
    runner.catch_up().await.expect("it catches up");

    let read = events.query(&query(), Default::default()).await;
    let read = read.expect("the events").events;
    let expected = read
        .iter()
        .flat_map(|event| vec![event.position().get(); streams(event).len()]);
    assert_eq!(
        numbers(&relayed(&target).await),
        expected.collect::<Vec<_>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_sqlite() {
    messages_have_the_order_of_the_events(Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_postgres() {
    messages_have_the_order_of_the_events(Postgres).await;
}

/// A store takes 10,000 messages in a write, and the runner reads 4,096 events at once.
#[tokio::test(flavor = "multi_thread")]
async fn batch_beyond_the_limits_of_a_write_is_divided() {
    let (events, target) = in_memory().await;
    for _ in 0..5 {
        append(&events, (0..1_000).map(|_| drawn(1)).collect()).await;
    }
    let three = |event: &SequencedEvent| {
        let message = |_| messages(event).pop().expect("a message");
        Ok([(); 3].map(message))
    };
    let relay = Relay::new(target.clone(), "three", three).expect("a name");
    let mut runner = ProjectionRunner::new(events, query(), relay);
    runner.catch_up().await.expect("it catches up");
    let expected = (1..=5_000).flat_map(|number| [number; 3]);
    assert_eq!(
        numbers(&relayed(&target).await),
        expected.collect::<Vec<u64>>()
    );
    // As few as the size of a commit allows: 333 events in each.
    let commits = target.stats().messages_written - 15_000;
    assert_eq!(commits, 13 + 3);
}
