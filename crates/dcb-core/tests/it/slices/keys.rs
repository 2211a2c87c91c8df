//! The key of an event, and its slice.

use dcb_core::{Error, Event, EventStore as _, MemoryStore, Query, ReadOptions, SliceKey};

async fn key_of(key: &SliceKey, tags: &[&str]) -> Result<String, Error> {
    let store = MemoryStore::new();
    store
        .append(Event::builder("Happened").tags(tags).build().unwrap())
        .await
        .unwrap();
    let read = store
        .query(&Query::all(), ReadOptions::new())
        .await
        .unwrap();
    key.key(&read.events[0])
}

/// A change of these numbers would send events to slices that have not handled the earlier ones.
#[test]
fn slice_of_a_key_never_changes() {
    let slices = ["", "c1", "c2", "course-4711 ✓"].map(|key| SliceKey::slice_of(key, 1 << 16));
    assert_eq!(slices, [38082, 22018, 49877, 55755]);
}

#[tokio::test]
async fn event_without_a_key_is_an_error_or_has_the_key_of_such_events() {
    let course = SliceKey::tag("course");
    assert_eq!(
        key_of(&course, &["course:c1", "student:s1"]).await.unwrap(),
        "c1"
    );
    let missing = key_of(&course, &["student:s1"]).await;
    assert!(
        matches!(missing, Err(Error::NotOneKey { found: 0, .. })),
        "{missing:?}"
    );
    let course = course.or_without("others");
    assert_eq!(key_of(&course, &["student:s1"]).await.unwrap(), "others");
}

#[tokio::test]
async fn event_with_two_keys_is_refused_unless_a_function_chooses() {
    let two = ["course:c1", "course:c2"];
    for key in [
        SliceKey::tag("course"),
        SliceKey::tag("course").or_without("others"),
    ] {
        let refused = key_of(&key, &two).await;
        assert!(
            matches!(refused, Err(Error::NotOneKey { found: 2, .. })),
            "{refused:?}"
        );
    }
    let first = SliceKey::by(|event| event.tag_value("course").map(str::to_owned));
    assert_eq!(key_of(&first, &two).await.unwrap(), "c1");
}
