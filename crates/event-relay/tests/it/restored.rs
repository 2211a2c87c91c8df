//! Stores that are put back to an earlier state.

use dcb_core::{Error, Position};
use message_store::MessageStore as _;
use uuid::Uuid;

use crate::support::Backend::Sqlite;
use crate::support::{Places, append, check, drawn, in_memory, numbers, open, relayed, runner};

/// A log that was emptied, and has grown again to any length.
#[tokio::test]
async fn replaced_log_ends_the_run_until_the_place_is_accepted() {
    let (events, messages) = in_memory().await;
    append(&events, (0..4).map(drawn).collect()).await;
    let mut runner = runner(&events, &messages);
    runner.catch_up().await.expect("it catches up");
    events.clear().expect("the log is emptied");
    append(&events, (0..2).map(drawn).collect()).await;
    let shorter = runner.catch_up().await;
    assert!(
        matches!(shorter, Err(Error::AfterBeyondHead { .. })),
        "{shorter:?}"
    );
    append(&events, (0..4).map(drawn).collect()).await;
    let replaced = runner.catch_up().await;
    assert!(
        matches!(replaced, Err(Error::PastReplaced { .. })),
        "{replaced:?}"
    );
    assert_eq!(numbers(&relayed(&messages).await), [1, 2, 3, 4]);

    let position = Position::new(5).expect("a position");
    runner
        .accept(position)
        .await
        .expect("the place is in the log");
    runner.catch_up().await.expect("it goes on");
    assert_eq!(numbers(&relayed(&messages).await), [1, 2, 3, 4, 6]);
}

/// The relay that has seen the lost messages goes on, and one that starts then too.
#[tokio::test(flavor = "multi_thread")]
async fn messages_lost_by_a_restore_are_relayed_again_with_their_ids() {
    let places = Places::new(Sqlite, Sqlite).await;
    let (events, messages) = places.open().await;
    append(&events, (0..5).map(|_| drawn(1)).collect()).await;
    runner(&events, &messages)
        .catch_up()
        .await
        .expect("it catches up");
    messages.close().await;
    let backup = format!("{}.backup", places.messages);
    std::fs::copy(&places.messages, &backup).expect("a copy");

    let (_, messages) = places.open().await;
    append(&events, (0..5).map(|_| drawn(2)).collect()).await;
    runner(&events, &messages)
        .catch_up()
        .await
        .expect("it catches up");
    let ids = async |messages: &message_store::AnyStore| -> Vec<Uuid> {
        relayed(messages)
            .await
            .iter()
            .map(|message| message.id())
            .collect()
    };
    let before = ids(&messages).await;
    messages.close().await;
    std::fs::copy(&backup, &places.messages).expect("the restore");

    let (_, messages) = open(&places.events, &places.messages).await;
    assert_eq!(relayed(&messages).await.len(), 5);
    runner(&events, &messages)
        .catch_up()
        .await
        .expect("it catches up");
    check(&events, &messages).await;
    assert_eq!(ids(&messages).await, before);
}
