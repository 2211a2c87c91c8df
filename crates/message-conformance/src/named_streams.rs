//! Streams with names of every form can be used.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::Subject;
use super::fixture::{
    NO_STREAM, all, exactly, fill, message, messages, name, names, position_at, positions, stream,
};
use super::{Model, NAMES, NameParts};
use message_store::{
    Category, CategoryRead, ConsumerGroup, GlobalPosition, ListStreams, MessageStore, Position,
    RecordedMessage, RecordedParts, StreamName, StreamRead, ndjson,
};

/// Writes two messages to each stream.
async fn fill_all(store: &impl MessageStore) {
    for parts in NAMES {
        fill(store, parts.name, 2).await;
    }
}

/// The category of a stream. Some have an empty name, which [`Category::new`] takes for all.
fn category_of(parts: NameParts) -> Category {
    Category::of(&name(parts.name))
}

fn names_in(category: &str) -> BTreeSet<&'static str> {
    let members = NAMES.iter().filter(|parts| parts.category == category);
    members.map(|parts| parts.name).collect()
}

async fn read(
    store: &impl MessageStore,
    category: &Category,
    read: CategoryRead,
) -> Vec<RecordedMessage> {
    store.get_category_messages(category, read).await.unwrap()
}

pub(super) async fn stream_with_any_name_is_continued(store: &Subject<impl MessageStore>) {
    for parts in NAMES {
        let stream_name = name(parts.name);
        let first = store
            .write_batch(&stream_name, messages(2), NO_STREAM)
            .await;
        assert_eq!(first.unwrap()[1].position, position_at(1), "{parts:?}");
        let version = store.stream_version(&stream_name).await.unwrap();
        assert_eq!(version, Some(position_at(1)), "{parts:?}");
        let next = store
            .write_message(&stream_name, message(2), exactly(1))
            .await;
        assert_eq!(next.unwrap().position, position_at(2), "{parts:?}");
        let last = store.get_last_stream_message(&stream_name, None).await;
        assert_eq!(last.unwrap().unwrap().position(), position_at(2));
    }
    for parts in NAMES {
        let stored = stream(&**store, parts.name).await;
        assert_eq!(positions(&stored), [0, 1, 2], "{parts:?}");
        assert!(stored.iter().all(|found| found.stream_name() == parts.name));
        assert!(
            stored
                .iter()
                .all(|found| found.category() == parts.category)
        );
        assert!(
            stored
                .iter()
                .all(|found| found.stream() == name(parts.name))
        );
    }
}

pub(super) async fn category_has_its_streams_with_and_without_id(
    store: &Subject<impl MessageStore>,
) {
    fill_all(&**store).await;
    for parts in NAMES {
        let category = category_of(parts);
        assert_eq!(category.as_str(), parts.category);
        assert!(!category.is_all(), "{parts:?}");
        let members = read(&**store, &category, CategoryRead::new()).await;
        let expected = names_in(parts.category);
        assert_eq!(members.len(), 2 * expected.len(), "{parts:?}");
        let found: BTreeSet<&str> = names(&members).into_iter().collect();
        assert_eq!(found, expected, "{parts:?}");
    }
}

pub(super) async fn every_stream_has_one_group_member(store: &Subject<impl MessageStore>) {
    fill_all(&**store).await;
    for parts in NAMES {
        let mut found = Vec::new();
        for member in 0..3 {
            let group = ConsumerGroup::new(member, 3).unwrap();
            let options = CategoryRead::new().consumer_group(group);
            let members = read(&**store, &category_of(parts), options).await;
            assert!(members.iter().all(|one| group.includes(one.stream_name())));
            found.extend(members);
        }
        let mine = names(&found).into_iter().filter(|name| *name == parts.name);
        assert_eq!(mine.count(), 2, "{parts:?}");
    }
}

pub(super) async fn every_stream_is_listed_with_its_category(store: &Subject<impl MessageStore>) {
    fill_all(&**store).await;
    let streams = store.list_streams(ListStreams::new()).await.unwrap();
    let expected: BTreeSet<&str> = NAMES.iter().map(|parts| parts.name).collect();
    assert!(
        streams
            .iter()
            .map(|found| found.stream_name.as_str())
            .eq(expected)
    );
    let categories = store.list_categories().await.unwrap();
    let found: BTreeMap<&str, (u64, u64)> = categories
        .iter()
        .map(|info| {
            (
                info.category.as_str(),
                (info.stream_count, info.message_count),
            )
        })
        .collect();
    let mut expected = BTreeMap::new();
    for parts in NAMES {
        let (streams, messages) = expected.entry(parts.category).or_insert((0, 0));
        *streams += 1;
        *messages += 2;
    }
    assert_eq!(found, expected);
}

pub(super) async fn every_stream_is_truncated_and_expires_with_its_category(
    store: &Subject<impl MessageStore>,
) {
    let later = SystemTime::now() + Duration::from_secs(3600);
    for parts in NAMES {
        fill(&**store, parts.name, 3).await;
    }
    for parts in NAMES {
        let truncated = store
            .truncate_stream(&name(parts.name), position_at(1))
            .await;
        assert_eq!(truncated.unwrap(), 1, "{parts:?}");
        assert_eq!(positions(&stream(&**store, parts.name).await), [1, 2]);
    }
    let mut expired = BTreeSet::new();
    for parts in NAMES {
        let category = category_of(parts);
        store.expire_messages(&category, later).await.unwrap();
        expired.insert(parts.category);
        for other in NAMES {
            let kept = positions(&stream(&**store, other.name).await);
            let expected = match expired.contains(other.category) {
                true => vec![2],
                false => vec![1, 2],
            };
            assert_eq!(kept, expected, "{other:?} after {parts:?}");
        }
    }
}

pub(super) async fn every_stream_is_exported_and_imported(store: &Subject<impl MessageStore>) {
    fill_all(&**store).await;
    let mut lines = Vec::new();
    let options = ndjson::ExportOptions::default();
    let exported = ndjson::export(&***store, &mut lines, options, |_| {}).await;
    assert_eq!(exported.unwrap(), 2 * NAMES.len() as u64);
    let copy = Model::new();
    let imported = ndjson::import(&copy, lines.as_slice(), |_| {}).await;
    assert_eq!(imported.unwrap().stored, 2 * NAMES.len() as u64);
    assert_eq!(names(&all(&copy).await), names(&all(&**store).await));

    for parts in NAMES {
        let next = import_next(&**store, parts.name, position_at(2)).await;
        let stored = stream(&**store, parts.name).await;
        assert_eq!(positions(&stored), [0, 1, 2], "{parts:?}");
        assert_eq!(stored[2].global_position(), next, "{parts:?}");
    }
}

/// A name that the store takes from SQL clients and imports only.
pub(super) async fn stored_stream_with_refused_name_is_usable(store: &Subject<impl MessageStore>) {
    let long = "x".repeat(StreamName::MAX_BYTES + 1);
    for refused in ["", long.as_str()] {
        StreamName::new(refused).unwrap_err();
        import_next(&**store, refused, position_at(0)).await;
        let found = all(&**store).await.pop().unwrap();
        let stream_name = found.stream();
        assert_eq!(stream_name.as_str(), refused);
        let next = store
            .write_message(&stream_name, message(1), exactly(0))
            .await;
        assert_eq!(next.unwrap().position, position_at(1));
        let stored = store
            .get_stream_messages(&stream_name, StreamRead::new())
            .await;
        assert_eq!(positions(&stored.unwrap()), [0, 1]);
        let members = read(&**store, &Category::of(&stream_name), CategoryRead::new()).await;
        assert_eq!(names(&members), [refused, refused]);
        let listed = store.list_streams(ListStreams::new()).await.unwrap();
        assert!(listed.iter().any(|found| found.stream_name == refused));
        let truncated = store.truncate_stream(&stream_name, position_at(1)).await;
        assert_eq!(truncated.unwrap(), 1);
    }
}

/// Imports one message after the head.
async fn import_next(
    store: &impl MessageStore,
    stream_name: &str,
    position: Position,
) -> GlobalPosition {
    let head = store.head().await.unwrap();
    let global_position = head.map_or(GlobalPosition::START, |head| head.position.next());
    let recorded = RecordedMessage::new(RecordedParts {
        id: Uuid::now_v7(),
        stream_name,
        message_type: "Happened",
        position,
        global_position,
        data: "2",
        metadata: None,
        time_us: 0,
    });
    let imported = store.import_messages(vec![recorded]).await;
    assert_eq!(imported.unwrap(), 1, "{stream_name:?}");
    global_position
}
