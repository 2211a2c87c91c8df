//! The lanes at rest keep to their bound.

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
