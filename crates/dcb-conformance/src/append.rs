//! An append is atomic and assigns dense positions.

use std::collections::HashSet;
use std::time::UNIX_EPOCH;

use conformance_suite::assert_refused;
use dcb_core::{AppendCondition, Error, EventStore, Limits, Query};
use uuid::Uuid;

use super::fixture::{at, head, log, many, positions, tag, tagged};

pub(super) async fn empty_log_has_no_head(store: &impl EventStore) {
    assert_eq!(store.head().await.unwrap(), None);
    assert_eq!(store.count(&Query::all()).await.unwrap(), 0);
    assert!(!store.exists(&Query::all()).await.unwrap());
}

pub(super) async fn positions_are_dense_from_one(store: &impl EventStore) {
    for number in 1..=5 {
        let appended = store.append(tagged(&[])).await.unwrap();
        assert_eq!(appended.first(), at(number));
        assert_eq!(head(store).await, number);
    }
    assert_eq!(positions(&log(store).await), [1, 2, 3, 4, 5]);
}

pub(super) async fn events_of_one_append_get_consecutive_positions(store: &impl EventStore) {
    store.append(tagged(&["earlier"])).await.unwrap();
    let tags = ["a", "b", "c"];
    let appended = store.append(tags.map(|tag| tagged(&[tag]))).await.unwrap();
    assert_eq!(
        appended.positions().collect::<Vec<_>>(),
        [at(2), at(3), at(4)]
    );
    assert_eq!((appended.first(), appended.last()), (at(2), at(4)));
    for (event, tag) in log(store).await[1..].iter().zip(tags) {
        assert!(event.has_tag(tag), "{event:?}");
    }
}

pub(super) async fn refused_append_writes_nothing_and_uses_no_position(store: &impl EventStore) {
    store.append(tagged(&["taken"])).await.unwrap();
    for _ in 0..3 {
        let condition = AppendCondition::fail_if(tag("taken"));
        let answer = store.append_if(many(4, "refused"), condition).await;
        assert_refused!(answer, Error::Conflict { .. });
    }
    assert_eq!(head(store).await, 1);
    assert_eq!(store.append(many(2, "next")).await.unwrap().first(), at(2));
    assert_eq!(positions(&log(store).await), [1, 2, 3]);
}

pub(super) async fn missing_ids_are_generated_and_given_ids_kept(store: &impl EventStore) {
    let given = Uuid::from_u128(7);
    store
        .append([tagged(&[]), tagged(&[]).with_id(given), tagged(&[])])
        .await
        .unwrap();
    store.append(tagged(&[])).await.unwrap();
    let ids: Vec<Uuid> = log(store).await.iter().map(|event| event.id()).collect();
    assert_eq!(ids[1], given);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 4, "{ids:?}");
    for made in [ids[0], ids[2], ids[3]] {
        assert_eq!(made.get_version_num(), 7, "{made}");
    }
}

pub(super) async fn recorded_at_has_microsecond_precision(store: &impl EventStore) {
    store.append(many(2, "a")).await.unwrap();
    let first_read = log(store).await;
    assert_eq!(first_read, log(store).await);
    for event in first_read {
        let since_epoch = event.recorded_at().duration_since(UNIX_EPOCH).unwrap();
        // PostgreSQL stores microseconds. A finer time would differ between append and read.
        assert_eq!(since_epoch.subsec_nanos() % 1000, 0);
        assert!(!since_epoch.is_zero());
    }
}

pub(super) async fn append_of_maximum_size_is_stored(store: &impl EventStore) {
    let most = Limits::default().max_events_per_append;
    let appended = store.append(many(most, "a")).await.unwrap();
    assert_eq!(appended.positions().count(), most);
    assert_eq!(appended.last(), at(most as u64));
    assert_eq!(store.count(&tag("a")).await.unwrap(), most as u64);
}
