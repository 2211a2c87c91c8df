//! The lanes at rest keep to their bound, and a decision does not copy what they keep.

use bench::AllocationScope;
use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{DecisionModel, Error, Event, EventStore as _, Projector, Query};

use super::counting;

const BOUNDARIES: u32 = 100_000;
const CACHE_BYTES: usize = 8 << 20;

async fn decide(store: &SqliteStore, boundary: u32) -> Result<(), Error> {
    let query = Query::builder()
        .event_type("EnrollmentCompleted")
        .tag_pair("course_id", boundary);
    let enrolled = Event::builder("EnrollmentCompleted")
        .tag_pair("course_id", boundary)
        .json(&boundary)
        .build()?;
    let model = DecisionModel::new(Projector::counter(query.build()?));
    let decide = |_| Ok::<_, Error>(enrolled.clone());
    model.decide(store, decide).await.map(|_| ())
}

/// The counter does not see SQLite's memory, so what the lanes forget is what they had.
#[test]
fn lanes_of_many_boundaries_keep_to_the_bound() {
    let _counting = counting();
    let mut config = Config::memory();
    config.lane_cache_bytes = CACHE_BYTES;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let store = runtime.block_on(SqliteStore::open(config)).unwrap();
    let scope = AllocationScope::start();
    for boundary in 0..BOUNDARIES {
        runtime.block_on(decide(&store, boundary)).unwrap();
    }
    let filled = scope.finish().live_bytes as f64;
    let stats = store.stats();
    let counted = stats.lane_bytes as f64;
    assert!(stats.lane_evictions > 50_000, "{stats:?}");
    assert!(counted > 0.9 * CACHE_BYTES as f64, "{stats:?}");
    // With the keys that the store has in memory.
    assert!(filled < 1.5 * CACHE_BYTES as f64, "{filled} bytes");
    let scope = AllocationScope::start();
    store.lanes().unwrap().forget();
    let freed = -scope.finish().live_bytes as f64;
    // Counted bytes include what an allocator adds to each allocation.
    assert!(
        freed <= counted && freed > 0.6 * counted,
        "{freed} of {counted} bytes"
    );
}

/// The bytes that a warm decision allocates.
fn of_one_decision(store: &SqliteStore, runtime: &tokio::runtime::Runtime) -> i64 {
    const DECISIONS: i64 = 10;
    let scope = AllocationScope::start();
    for _ in 0..DECISIONS {
        runtime.block_on(decide(store, 1)).unwrap();
    }
    i64::try_from(scope.finish().bytes).unwrap() / DECISIONS
}

#[test]
fn warm_decision_copies_no_event() {
    let _counting = counting();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let store = runtime
        .block_on(SqliteStore::open(Config::memory()))
        .unwrap();
    for _ in 0..10 {
        runtime.block_on(decide(&store, 1)).unwrap();
    }
    let of_few_events = of_one_decision(&store, &runtime);
    for _ in 0..3_000 {
        runtime.block_on(decide(&store, 1)).unwrap();
    }
    let of_many_events = of_one_decision(&store, &runtime);
    // A place in a list of 3,000 events takes 8 bytes.
    assert!(
        of_many_events < of_few_events + 3_000,
        "{of_few_events} bytes with 10 events, {of_many_events} with 3,000"
    );
}
