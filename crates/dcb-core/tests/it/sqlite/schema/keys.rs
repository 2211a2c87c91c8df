//! The keys of the tag index are hashes, which can collide.

use dcb_core::{EventStore as _, Query, ReadOptions};

use crate::support::events::{at, event, positions, read, tag, unless};
use crate::support::sqlite::files::foreign;
use crate::support::sqlite::{connect, fresh_log};

/// If the keys of two tags collide, the index lists an event under the key of a tag that it does
/// not have.
#[tokio::test(flavor = "multi_thread")]
async fn key_collision_does_not_match_another_tag() {
    let mut log = fresh_log().await;
    log.keys_in_memory = 0;
    let store = connect(&log).await;
    for name in ["a", "b", "moves the earlier keys"] {
        store.append(event("Happened", &[name])).await.unwrap();
    }
    foreign(&log)
        .execute_batch(
            "INSERT OR IGNORE INTO dcb_event_tag SELECT key, 3 - position FROM dcb_event_tag",
        )
        .unwrap();
    let typed = |name: &str| {
        let query = Query::builder().event_type("Happened").tag(name);
        query.build().unwrap()
    };
    for (query, expected) in [
        (tag("a"), 1),
        (typed("a"), 1),
        (tag("b"), 2),
        (typed("b"), 2),
    ] {
        assert_eq!(
            positions(&read(&store, &query).await),
            [expected],
            "{query:?}"
        );
        let backwards = ReadOptions::new().backwards().limit(1);
        let last = store.query(&query, backwards).await.unwrap();
        assert_eq!(positions(&last.events), [expected], "{query:?}");
        assert_eq!(store.count(&query).await.unwrap(), 1, "{query:?}");
    }
    let both = Query::builder().tags(["a", "b"]).build().unwrap();
    assert!(read(&store, &both).await.is_empty());
    assert!(!store.exists(&both).await.unwrap());
    // The colliding entry must not count as a match.
    let condition = unless("a").after(at(1));
    store
        .append_if(event("Happened", &["c"]), condition)
        .await
        .unwrap();
    store.close().await;
}

/// The index has one row per key and event, even if two tags of the event have the same key.
#[tokio::test(flavor = "multi_thread")]
async fn tags_of_one_event_can_share_a_key() {
    const SAME: [&str; 2] = ["course_id:291724", "course_id:574283"];
    let mut log = fresh_log().await;
    log.keys_in_memory = 0;
    let store = connect(&log).await;
    store.append(event("Happened", &SAME)).await.unwrap();
    store.append(event("Happened", &SAME[..1])).await.unwrap();
    let rows = "SELECT count(*) FROM dcb_event_tag WHERE position = 1";
    let rows: i64 = foreign(&log).query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(
        rows, 2,
        "one row for both tags, and the row that every event has"
    );
    assert_eq!(positions(&read(&store, &tag(SAME[0])).await), [1, 2]);
    assert_eq!(positions(&read(&store, &tag(SAME[1])).await), [1]);
    let both = Query::builder().tags(SAME).build().unwrap();
    assert_eq!(positions(&read(&store, &both).await), [1]);
    let free = unless(SAME[1]).after(at(1));
    store.append_if(event("Happened", &[]), free).await.unwrap();
    store.close().await;
}
