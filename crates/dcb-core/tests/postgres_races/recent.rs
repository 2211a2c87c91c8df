//! Conditions about the last events, which a writer answers from what it appended itself as long as
//! the log's last event is its own.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _};

use crate::support::events::{at, event, tagged, unless};
use crate::support::sql::Sql;
use crate::support::{connect, fresh_log};

/// Appends under the condition that nothing after this position has the tag.
async fn conflict(store: &PostgresStore, tag: &str, after: u64) -> Option<u64> {
    let condition = unless(tag).after(at(after));
    match store.append_if(tagged("decided"), condition).await {
        Ok(_) => None,
        Err(Error::Conflict { position }) => Some(position.get()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_appended_in_between_is_seen() {
    let log = fresh_log().await;
    let (own, other) = (connect(&log).await, connect(&log).await);
    for round in 0..20 {
        let own_tag = format!("own:{round}");
        let other_tag = format!("other:{round}");
        let read = own.append(tagged("read")).await.unwrap().last().get();
        let seen = other.append(tagged(&other_tag)).await.unwrap().last().get();
        assert_eq!(conflict(&own, &other_tag, read).await, Some(seen));
        assert_eq!(conflict(&own, &own_tag, read).await, None);
        let seen = own.append(tagged(&own_tag)).await.unwrap().last().get();
        assert_eq!(conflict(&own, &own_tag, read).await, Some(seen));
        assert_eq!(conflict(&other, &own_tag, read).await, Some(seen));
        assert_eq!(conflict(&own, &own_tag, seen).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_without_a_type_meets_events_of_any_type() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let read = store.append(tagged("read")).await.unwrap().last().get();
    let both = event("SomethingElse", &["a", "b"]);
    let seen = store.append(both).await.unwrap().last().get();
    for tag in ["a", "b"] {
        assert_eq!(conflict(&store, tag, read).await, Some(seen));
    }
    assert_eq!(conflict(&store, "c", read).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_emptied_and_grew_to_the_same_head_is_another_log() {
    let log = fresh_log().await;
    let (own, other) = (connect(&log).await, connect(&log).await);
    own.append(["a", "b", "c"].map(tagged)).await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let tables = ["event", "event_tag"].map(|table| format!("{}.{table}", log.schema));
    sql.run(&format!("TRUNCATE {}", tables.join(", "))).await;
    other.append(["d", "e", "f"].map(tagged)).await.unwrap();
    assert_eq!(conflict(&own, "f", 1).await, Some(3));
    assert_eq!(conflict(&own, "c", 1).await, None);
}
