use conformance_suite::assert_refused;
use message_store::{Error, MessageStore, StreamWrite};

use super::Subject;
use super::fixture::{NO_STREAM, all, exactly, fill, message, messages, name, numbers, stream};

pub(super) async fn several_streams_are_written_together(store: &Subject<impl MessageStore>) {
    fill(&**store, "b-1", 2).await;
    let writes = vec![
        StreamWrite::new(name("b-1"), messages(2)).expected_version(exactly(1)),
        StreamWrite::new(name("a-1"), message(5)).expected_version(NO_STREAM),
        StreamWrite::new(name("c-1"), messages(3)),
    ];
    let written = store.write_streams(writes).await.unwrap();
    let positions: Vec<Vec<u64>> = written
        .iter()
        .map(|list| list.iter().map(|one| one.position.get()).collect())
        .collect();
    assert_eq!(positions, [vec![2, 3], vec![0], vec![0, 1, 2]]);
    for (stored, list) in [
        ("b-1", &written[0]),
        ("a-1", &written[1]),
        ("c-1", &written[2]),
    ] {
        let stored = stream(&**store, stored).await;
        let last = stored.last().unwrap();
        assert_eq!(last.global_position(), list.last().unwrap().global_position);
    }
    assert_eq!(numbers(&stream(&**store, "a-1").await), [5]);
}

pub(super) async fn one_wrong_version_refuses_all_streams(store: &Subject<impl MessageStore>) {
    fill(&**store, "b-1", 1).await;
    let writes = vec![
        StreamWrite::new(name("a-1"), messages(2)),
        StreamWrite::new(name("b-1"), messages(2)).expected_version(NO_STREAM),
    ];
    let refused = store.write_streams(writes).await;
    assert_refused!(refused, Error::WrongExpectedVersion { stream, .. } if stream == "b-1");
    assert_eq!(all(&**store).await.len(), 1);
    assert_eq!(store.stream_version(&name("a-1")).await.unwrap(), None);
}

pub(super) async fn repeated_stream_is_refused(store: &Subject<impl MessageStore>) {
    let write = StreamWrite::new(name("a-1"), message(0));
    let refused = store.write_streams(vec![write.clone(), write]).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "streams");
}

pub(super) async fn write_without_streams_is_refused(store: &Subject<impl MessageStore>) {
    let refused = store.write_streams(Vec::new()).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "streams");
    let empty = StreamWrite::new(name("a-1"), Vec::new());
    let other = StreamWrite::new(name("b-1"), message(0));
    let refused = store.write_streams(vec![other, empty]).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "streams[1].messages");
}
