//! The ids of messages, and the size of a commit.

use dcb_core::{ProjectionRunner, SequencedEvent};
use event_relay::Relay;
use message_store::{Message, MessageStore as _, StreamName};

use crate::support::{append, check, drawn, in_memory, message, numbers, query, relayed};

/// Two relays of one log write to one store.
#[tokio::test]
async fn each_relay_has_messages_of_its_own() {
    let (events, messages) = in_memory().await;
    append(&events, (0..3).map(drawn).collect()).await;
    for name in ["one", "two"] {
        let relay = Relay::new(messages.clone(), name, |event| message(event).map(Some));
        let mut runner = ProjectionRunner::new(events.clone(), query(), relay.expect("a name"));
        runner.catch_up().await.expect("it catches up");
    }
    assert_eq!(numbers(&relayed(&messages).await), [1, 2, 3, 1, 2, 3]);
}

#[tokio::test]
async fn message_keeps_the_id_that_its_handler_gave() {
    let (events, messages) = in_memory().await;
    append(&events, (0..3).map(drawn).collect()).await;
    let with_id = |event: &SequencedEvent| {
        let (stream, message) = message(event)?;
        Ok(Some((stream, message.with_id(event.id()))))
    };
    let relay = Relay::new(messages.clone(), "own", with_id).expect("a name");
    let mut runner = ProjectionRunner::new(events.clone(), query(), relay);
    runner.catch_up().await.expect("it catches up");
    check(&events, &messages).await;
    let read = dcb_core::EventStore::query(&events, &query(), Default::default()).await;
    let of_events = read.expect("the events").events;
    let of_events: Vec<_> = of_events.iter().map(SequencedEvent::id).collect();
    let of_messages = relayed(&messages).await;
    let of_messages: Vec<_> = of_messages.iter().map(|message| message.id()).collect();
    assert_eq!(of_messages, of_events);
}

/// 1 MiB, or the messages of one event.
#[tokio::test]
async fn size_of_a_commit_is_bounded() {
    let (events, messages) = in_memory().await;
    append(&events, (0..8).map(|_| drawn(1)).collect()).await;
    let large = |_: &SequencedEvent| {
        let message = Message::builder("Large").data(&"x".repeat(400 << 10));
        Ok(Some((StreamName::new("number-1")?, message.build()?)))
    };
    let relay = Relay::new(messages.clone(), "large", large).expect("a name");
    let mut runner = ProjectionRunner::new(events, query(), relay);
    runner.catch_up().await.expect("it catches up");
    // Two events in each of four commits, which each write the checkpoint too.
    assert_eq!(messages.stats().messages_written, 8 + 4);
}
