//! Conditions about recent events. A writer remembers its recent appends. As long as no other
//! writer appends, it answers such conditions from this memory.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Error, EventStore as _};

use crate::support::events::{at, event, tagged, unless};
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// Appends unless an event after the position has the tag. Returns the position of a conflict.
async fn conflict(store: &PostgresStore, tag: &str, after: u64) -> Option<u64> {
    let condition = unless(tag).after(at(after));
    match store.append_if(tagged("decided"), condition).await {
        Ok(_) => None,
        Err(Error::Conflict { position, .. }) => Some(position.get()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn condition_sees_interleaved_appends_of_another_process() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    for round in 0..20 {
        let own_tag = format!("own:{round}");
        let other_tag = format!("other:{round}");
        let read = store.append(tagged("read")).await.unwrap().last().get();
        let seen = other.append(tagged(&other_tag)).await.unwrap().last().get();
        assert_eq!(conflict(&store, &other_tag, read).await, Some(seen));
        assert_eq!(conflict(&store, &own_tag, read).await, None);
        let seen = store.append(tagged(&own_tag)).await.unwrap().last().get();
        assert_eq!(conflict(&store, &own_tag, read).await, Some(seen));
        assert_eq!(conflict(&other, &own_tag, read).await, Some(seen));
        assert_eq!(conflict(&store, &own_tag, seen).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn condition_without_type_matches_events_of_any_type() {
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
async fn emptied_log_with_the_same_head_is_detected() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    store.append(["a", "b", "c"].map(tagged)).await.unwrap();
    let mut sql = Sql::connect(&log.url).await;
    let tables = ["event", "event_tag"].map(|table| format!("{}.{table}", log.schema));
    sql.run(&format!("TRUNCATE {}", tables.join(", "))).await;
    other.append(["d", "e", "f"].map(tagged)).await.unwrap();
    assert_eq!(conflict(&store, "f", 1).await, Some(3));
    assert_eq!(conflict(&store, "c", 1).await, None);
}
