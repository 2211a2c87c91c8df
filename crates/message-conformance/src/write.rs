use std::time::{Duration, SystemTime};

use conformance_suite::assert_refused;
use message_store::{Error, ExpectedVersion, MessageStore};
use uuid::Uuid;

use super::Subject;
use super::fixture::{
    ANY, NO_STREAM, all, exactly, fill, message, messages, name, numbers, position_at, positions,
    stream, write,
};

pub(super) async fn stream_positions_are_dense_from_zero(store: &Subject<impl MessageStore>) {
    for expected in 0..5 {
        let written = write(&**store, "account-1", message(expected)).await;
        assert_eq!(written.position, position_at(expected));
        write(&**store, "account-2", message(expected)).await;
    }
    assert_eq!(
        positions(&stream(&**store, "account-1").await),
        [0, 1, 2, 3, 4]
    );
}

pub(super) async fn global_positions_increase_over_all_streams(store: &Subject<impl MessageStore>) {
    let mut last = 0;
    for number in 0..10 {
        let written = write(
            &**store,
            &format!("account-{}", number % 3),
            message(number),
        )
        .await;
        let global_position = written.global_position.get();
        assert!(global_position > last, "{global_position} follows {last}");
        last = global_position;
    }
    assert_eq!(numbers(&all(&**store).await), (0..10).collect::<Vec<_>>());
}

pub(super) async fn batch_gets_consecutive_positions_in_order(store: &Subject<impl MessageStore>) {
    write(&**store, "account-1", message(100)).await;
    let written = fill(&**store, "account-1", 4).await;
    let assigned: Vec<_> = written.iter().map(|one| one.position.get()).collect();
    assert_eq!(assigned, [1, 2, 3, 4]);
    assert!(written.is_sorted_by(|a, b| a.global_position < b.global_position));
    let stored = stream(&**store, "account-1").await;
    assert_eq!(numbers(&stored), [100, 0, 1, 2, 3]);
    for (message, written) in stored[1..].iter().zip(&written) {
        assert_eq!(message.global_position(), written.global_position);
    }
}

pub(super) async fn write_expecting_any_version_succeeds(store: &Subject<impl MessageStore>) {
    for number in 0..3 {
        let written = store
            .write_message(&name("account-1"), message(number), ANY)
            .await;
        assert_eq!(written.unwrap().position, position_at(number));
    }
}

pub(super) async fn write_expecting_no_stream_needs_absent_stream(
    store: &Subject<impl MessageStore>,
) {
    let account = name("account-1");
    store
        .write_message(&account, message(0), NO_STREAM)
        .await
        .unwrap();
    assert_refused!(
        store.write_message(&account, message(1), NO_STREAM).await,
        Error::WrongExpectedVersion { actual: Some(actual), .. } if actual.get() == 0
    );
}

pub(super) async fn write_expecting_exact_version_needs_last_position(
    store: &Subject<impl MessageStore>,
) {
    let account = name("account-1");
    fill(&**store, "account-1", 3).await;
    for wrong in [0, 1, 3, i64::MAX as u64, u64::MAX] {
        assert_refused!(
            store
                .write_message(&account, message(9), exactly(wrong))
                .await,
            Error::WrongExpectedVersion { .. }
        );
    }
    let written = store.write_message(&account, message(3), exactly(2)).await;
    assert_eq!(written.unwrap().position, position_at(3));
}

pub(super) async fn wrong_version_error_has_expected_and_actual(
    store: &Subject<impl MessageStore>,
) {
    let refused = store
        .write_message(&name("account-1"), message(0), exactly(4))
        .await;
    assert_refused!(
        refused,
        Error::WrongExpectedVersion {
            stream,
            expected: ExpectedVersion::Exact(expected),
            actual: None,
        } if stream == "account-1" && expected.get() == 4
    );
}

pub(super) async fn refused_write_writes_nothing(store: &Subject<impl MessageStore>) {
    fill(&**store, "account-1", 2).await;
    let refused = store
        .write_batch(&name("account-1"), messages(3), exactly(0))
        .await;
    assert_refused!(refused, Error::WrongExpectedVersion { .. });
    assert_eq!(all(&**store).await.len(), 2);
    assert_eq!(
        write(&**store, "account-1", message(2)).await.position,
        position_at(2)
    );
}

pub(super) async fn empty_batch_is_refused(store: &Subject<impl MessageStore>) {
    let refused = store.write_batch(&name("account-1"), Vec::new(), ANY).await;
    assert_refused!(refused, Error::Invalid { field, .. } if field == "messages");
}

pub(super) async fn absent_ids_are_generated_and_given_ids_kept(
    store: &Subject<impl MessageStore>,
) {
    let id = Uuid::from_u128(7);
    write(&**store, "account-1", message(0)).await;
    write(&**store, "account-1", message(1)).await;
    write(&**store, "account-1", message(2).with_id(id)).await;
    let stored = stream(&**store, "account-1").await;
    assert_ne!(stored[0].id(), stored[1].id());
    assert_eq!(stored[0].id().get_version_num(), 7);
    assert_eq!(stored[2].id(), id);
}

pub(super) async fn time_is_write_time_in_whole_microseconds(store: &Subject<impl MessageStore>) {
    // The database may run on another machine with another clock.
    let tolerance = Duration::from_secs(60);
    let now = SystemTime::now();
    write(&**store, "account-1", message(0)).await;
    let time = stream(&**store, "account-1").await[0].time();
    assert!(time > now - tolerance && time < SystemTime::now() + tolerance);
    assert_eq!(time, stream(&**store, "account-1").await[0].time());
}

pub(super) async fn batch_of_thousand_is_stored_whole(store: &Subject<impl MessageStore>) {
    let written = fill(&**store, "account-1", 1000).await;
    assert_eq!(written.len(), 1000);
    let stored = stream(&**store, "account-1").await;
    assert_eq!(numbers(&stored), (0..1000).collect::<Vec<_>>());
    assert_eq!(positions(&stored), (0..1000).collect::<Vec<_>>());
}
