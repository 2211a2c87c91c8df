//! Names, handlers and calls that a relay refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dcb_core::{Error, ProjectionRunner, SequencedEvent, SubscribeOptions};
use event_relay::Relay;

use crate::support::{append, check, drawn, in_memory, message, numbers, query, relayed, runner};

#[tokio::test]
async fn name_that_is_no_category_is_refused() {
    let (_, messages) = in_memory().await;
    for name in ["", "a-b", "a\0b"] {
        let relay = Relay::new(messages.clone(), name, |event| message(event).map(Some));
        let refused = relay.map(drop);
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "name"),
            "{name:?}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn failing_handler_ends_the_run_and_names_the_event() {
    let (events, messages) = in_memory().await;
    append(&events, (0..9).map(drawn).collect()).await;
    let is_mended = Arc::new(AtomicBool::new(false));
    let mended = Arc::clone(&is_mended);
    let handler = move |event: &SequencedEvent| match event.position().get() {
        5 if !mended.load(Ordering::SeqCst) => Err("there is no room".into()),
        _ => message(event).map(Some),
    };
    let relay = Relay::new(messages.clone(), "numbers", handler).expect("a name");
    let mut runner = ProjectionRunner::new(events.clone(), query(), relay)
        .options(SubscribeOptions::new().batch_size(3));
    for _ in 0..2 {
        let failed = runner.catch_up().await.expect_err("the handler fails");
        let text = failed.to_string();
        assert_eq!(
            text,
            "the handler of numbers failed: the event at position 5: there is no room"
        );
        assert_eq!(numbers(&relayed(&messages).await), [1, 2, 3]);
    }
    is_mended.store(true, Ordering::SeqCst);
    runner.catch_up().await.expect("it catches up");
    check(&events, &messages).await;
}

#[tokio::test]
async fn rebuild_is_refused() {
    let (events, messages) = in_memory().await;
    append(&events, vec![drawn(1), drawn(2)]).await;
    let mut runner = runner(&events, &messages);
    runner.catch_up().await.expect("it catches up");
    let refused = runner.rebuild().await;
    assert!(matches!(refused, Err(Error::Handler { .. })), "{refused:?}");
    runner.catch_up().await.expect("nothing has changed");
    check(&events, &messages).await;
}
