//! Several relays of one name, which are dropped at any step.

use std::time::Duration;

use dcb_core::{AnyStore, ProjectionRunner, SequencedEvent, SubscribeOptions};
use event_relay::Relay;
use tokio::time::timeout;

use crate::support::Backend::{Postgres, Sqlite};
use crate::support::{Backend, Places, append, drawn, message, numbers, query, relayed};

/// A relay that has no message for a third of the events. An event is a commit, so some commits only move the
/// checkpoint.
fn runner(
    events: &AnyStore,
    messages: &message_store::AnyStore,
) -> ProjectionRunner<AnyStore, Relay<message_store::AnyStore>> {
    let some = |event: &SequencedEvent| match event.has_tag("stream:0") {
        true => Ok(None),
        false => message(event).map(Some),
    };
    let relay = Relay::new(messages.clone(), "some", some).expect("the name is valid");
    ProjectionRunner::new(events.clone(), query(), relay)
        .options(SubscribeOptions::new().batch_size(1))
}

async fn each_event_is_one_message(backend: Backend) {
    let places = Places::new(backend, backend).await;
    let (events, messages) = places.open().await;
    append(&events, (0..60).map(|number| drawn(number % 3)).collect()).await;
    let relays: Vec<_> = (0..3)
        .map(|_| {
            let mut runner = runner(&events, &messages);
            tokio::spawn(async move {
                for micros in (0..).step_by(300) {
                    let run = timeout(Duration::from_micros(micros), runner.catch_up());
                    if let Ok(done) = run.await {
                        return done;
                    }
                }
                unreachable!("the loop has no end")
            })
        })
        .collect();
    append(&events, (0..30).map(|number| drawn(number % 3)).collect()).await;
    for relay in relays {
        relay.await.expect("no panic").expect("it catches up");
    }
    let mut last = runner(&events, &messages);
    last.catch_up().await.expect("it catches up");
    let expected = (1..=90).filter(|position| position % 3 != 1);
    assert_eq!(
        numbers(&relayed(&messages).await),
        expected.collect::<Vec<u64>>()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn in_sqlite() {
    each_event_is_one_message(Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_postgres() {
    each_event_is_one_message(Postgres).await;
}
