//! Places in the log: conditions, reads, subscriptions.

use std::time::Duration;

use dcb_core::{
    Append, EventStore as _, Projector, Query, ReadOptions, SubscribeOptions, append_until_known,
};
use futures_util::StreamExt as _;

use super::{KEPT, LOST, Log, assert_replaced, number, numbered, on_each_backend, saved};
use crate::support::events::{at, head, positions, tag, unless};

on_each_backend! {
    condition_on_a_lost_event_is_refused
    condition_is_refused_after_many_appends
    condition_of_a_batch_is_refused_alone
    retries_do_not_hide_it
    condition_on_a_kept_event_is_checked
    plain_position_is_accepted
    repeated_append_is_recognized
    reads_after_a_lost_event_are_refused
    subscription_ends_with_the_error
    subscription_from_a_saved_bookmark_ends_with_the_error
    subscription_from_a_plain_position_goes_on
    stream_across_the_restore_ends_with_an_error
}

async fn condition_on_a_lost_event_is_refused(log: Log) {
    let read = log.read_then_restore().await;
    let before = head(&log.store).await;
    for store in [&log.store, &log.other] {
        for query in [tag("a"), tag("absent"), Query::all()] {
            let condition = dcb_core::AppendCondition::fail_if(query).after(read.head);
            let refused = store.append_if(numbered("a", 999), condition).await;
            assert_replaced(refused, LOST);
        }
    }
    assert_eq!(head(&log.store).await, before, "nothing was written");
    log.close().await;
}

/// A writer that has appended alone for a while sends other statements.
async fn condition_is_refused_after_many_appends(log: Log) {
    let read = log.read_then_restore().await;
    for number in 0..40 {
        let own = format!("own {number}");
        log.store
            .append_if(numbered(&own, 1), unless(&own))
            .await
            .unwrap();
        let fresh = log
            .store
            .query(&tag("b"), ReadOptions::new().limit(0))
            .await
            .unwrap();
        let condition = unless("b").after(fresh.head);
        log.store
            .append_if(numbered("c", 1), condition)
            .await
            .unwrap();
    }
    for name in ["absent", "a"] {
        let condition = unless(name).after(read.head);
        let refused = log.store.append_if(numbered("a", 999), condition).await;
        assert_replaced(refused, LOST);
    }
    log.close().await;
}

async fn condition_of_a_batch_is_refused_alone(log: Log) {
    let read = log.read_then_restore().await;
    let lost = unless("absent").after(read.head);
    let several = [unless("never"), unless("absent").after(at(2)), lost.clone()];
    let (first, second, third, fourth) = tokio::join!(
        log.store.append(numbered("b", 1)),
        log.store.append_if(numbered("b", 2), lost),
        log.store.append_if(numbered("b", 3), unless("c")),
        log.store.append_if(numbered("b", 4), several),
    );
    assert!(first.is_ok() && third.is_ok(), "{first:?}, {third:?}");
    assert_replaced(second, LOST);
    assert_replaced(fourth, LOST);
    let stored = log
        .store
        .query(&tag("b"), ReadOptions::new())
        .await
        .unwrap();
    assert_eq!(stored.events.len(), 2);
    log.close().await;
}

async fn retries_do_not_hide_it(log: Log) {
    let read = log.read_then_restore().await;
    let append = Append::new(numbered("a", 999)).condition(unless("absent").after(read.head));
    let limit = Duration::from_secs(30);
    let refused = append_until_known(&log.store, append, limit).await;
    assert_replaced(refused, LOST);
    log.close().await;
}

async fn condition_on_a_kept_event_is_checked(log: Log) {
    log.fill().await;
    let early = ReadOptions::new().limit(KEPT);
    let read = log.store.query(&tag("a"), early).await.unwrap();
    let kept = read.events.last().unwrap().bookmark();
    log.restore().await;
    let conflict = log
        .store
        .append_if(numbered("a", 999), unless("a").after(kept))
        .await;
    assert!(
        matches!(&conflict, Err(dcb_core::Error::Conflict { position, .. }) if *position == at(KEPT + 1)),
        "{conflict:?}"
    );
    let appended = log
        .store
        .append_if(numbered("a", 999), unless("b").after(kept))
        .await;
    assert_eq!(appended.unwrap().first(), at(13));
    log.close().await;
}

/// Plain positions say what they can't notice.
async fn plain_position_is_accepted(log: Log) {
    log.fill().await;
    log.restore().await;
    let condition = unless("absent").after(at(LOST));
    log.store
        .append_if(numbered("a", 999), condition)
        .await
        .unwrap();
    log.close().await;
}

/// The ids decide first whether an append is a repeat.
async fn repeated_append_is_recognized(log: Log) {
    let read = log.read_then_restore().await;
    let kept = read.events[2].clone().into_event();
    let appended = log
        .store
        .append_if(kept, unless("absent").after(read.head))
        .await;
    assert_eq!(appended.unwrap().first(), at(3));
    log.close().await;
}

async fn reads_after_a_lost_event_are_refused(log: Log) {
    let read = log.read_then_restore().await;
    let [middle, last] = [7, 9].map(|index: usize| read.events[index].bookmark());
    let counter = Projector::counter(tag("a"));
    for (lost, position) in [(middle, 8), (last, LOST)] {
        let after = ReadOptions::new().after(lost);
        for options in [after, after.limit(0), after.from(at(12)), after.backwards()] {
            for query in [tag("a"), Query::all(), tag("a").or(tag("b"))] {
                assert_replaced(log.store.query(&query, options).await, position);
                let stream = log.store.query_stream(&query, options).await;
                assert_replaced(stream.map(drop), position);
            }
        }
        let stream = log.store.project_stream(&counter, lost).await;
        assert_replaced(stream.map(drop), position);
    }
    let kept = ReadOptions::new().after(read.events[5].bookmark());
    let next = log.store.query(&tag("a"), kept).await.unwrap();
    assert_eq!(positions(&next.events), [7, 8, 9, 10, 11, 12]);
    log.close().await;
}

async fn subscription_ends_with_the_error(log: Log) {
    log.fill().await;
    let mut events = log.store.subscribe(tag("a"), None, SubscribeOptions::new());
    for expected in 1..=LOST {
        assert_eq!(number(&events.next().await.unwrap().unwrap()), expected);
    }
    log.restore().await;
    assert_replaced(events.next().await.unwrap(), LOST);
    assert!(events.next().await.is_none());
    log.close().await;
}

async fn subscription_from_a_saved_bookmark_ends_with_the_error(log: Log) {
    log.fill().await;
    let mut events = log.store.subscribe(tag("a"), None, SubscribeOptions::new());
    let batch = events.next_batch().await.unwrap().unwrap();
    let places = [saved(batch.through), saved(batch.events[8].bookmark())];
    log.restore().await;
    for (place, position) in places.into_iter().zip([LOST, 9]) {
        for query in [tag("a"), tag("absent")] {
            let mut events = log.other.subscribe(query, place, SubscribeOptions::new());
            assert_replaced(events.next_batch().await.unwrap(), position);
        }
    }
    log.close().await;
}

async fn subscription_from_a_plain_position_goes_on(log: Log) {
    log.fill().await;
    log.restore().await;
    let mut events = log
        .store
        .subscribe(tag("a"), at(LOST), SubscribeOptions::new());
    assert_eq!(number(&events.next().await.unwrap().unwrap()), 111);
    log.close().await;
}

/// The pages of a stream show one snapshot, or end with an error.
async fn stream_across_the_restore_ends_with_an_error(log: Log) {
    for _ in 0..4 {
        log.store.append(vec![numbered("a", 1); 900]).await.unwrap();
    }
    let mut stream = log
        .store
        .query_stream(&tag("a"), ReadOptions::new())
        .await
        .unwrap();
    stream.next().await.unwrap().unwrap();
    log.other.clear().await.unwrap();
    for _ in 0..5 {
        log.other.append(vec![numbered("a", 2); 900]).await.unwrap();
    }
    let rest: Vec<_> = stream.collect().await;
    let last = rest.last().unwrap();
    // The memory store reads everything at once.
    let is_whole = rest.len() == 3599 && rest.iter().flatten().all(|event| number(event) == 1);
    let is_told = matches!(last, Err(dcb_core::Error::PastReplaced { .. }));
    assert!(is_whole || is_told, "{} events, {last:?}", rest.len());
    log.close().await;
}
