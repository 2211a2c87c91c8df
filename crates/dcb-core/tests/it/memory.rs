//! The conformance suite on the memory store.

use dcb_core::{DecisionModel, Error, Event, EventStore, MemoryStore, Projector, Query};

dcb_conformance::suite!(async || MemoryStore::new());

/// The size of about two lanes at rest. The decisions are about four boundaries.
const SMALL_CACHE: usize = 3000;

#[test]
fn random_decisions_with_a_small_lane_cache_agree_with_replayed_log() {
    for case in [
        "lanes::random_decisions_agree_with_replayed_log",
        "warm::random_decisions_beside_other_writers_agree_with_replayed_log",
    ] {
        dcb_conformance::run(case, async || {
            MemoryStore::new().with_lane_cache(SMALL_CACHE)
        });
    }
}

/// A decision on a course with this number.
async fn decide(store: &MemoryStore, course: u32) {
    let query = Query::builder().tag_pair("course", course).build().unwrap();
    let enrolled = Event::builder("Enrolled").tag_pair("course", course);
    let enrolled = enrolled.build().unwrap();
    let model = DecisionModel::new(Projector::counter(query));
    let decided = model.decide(store, |_| Ok::<_, Error>(enrolled.clone()));
    decided.await.unwrap();
}

#[tokio::test]
async fn least_recently_used_lane_is_evicted_first() {
    let store = MemoryStore::new();
    decide(&store, 1).await;
    let one = store.stats().lane_bytes;
    // Room for two lanes with two events each, and not for a third.
    let store = MemoryStore::new().with_lane_cache(one as usize * 5 / 2);
    for course in [1, 2, 1, 3] {
        decide(&store, course).await;
    }
    let stats = store.stats();
    assert_eq!((stats.lane_hits, stats.lane_misses), (1, 3));
    assert_eq!(stats.lane_evictions, 1);
    decide(&store, 1).await;
    assert_eq!(store.stats().lane_hits, 2);
    decide(&store, 2).await;
    assert_eq!(store.stats().lane_misses, 4);
}

#[tokio::test]
async fn lanes_keep_nothing_without_a_cache() {
    let store = MemoryStore::new().with_lane_cache(0);
    for _ in 0..3 {
        decide(&store, 1).await;
    }
    let stats = store.stats();
    assert_eq!((stats.lane_hits, stats.lane_misses), (0, 3));
    assert_eq!((stats.lane_bytes, stats.lane_evictions), (0, 0));
}
