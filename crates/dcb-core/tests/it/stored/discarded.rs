//! Stored states that are not of this log, or not of this fold.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use dcb_core::{DecisionModel, Error, Projector, Query, StateOptions};

use super::{EVERY_TENTH, Folds, Tables, decide, fill, read, see, store_state, wait_until_stored};
use crate::backends::on_each_backend;
use crate::support::events::{event, tag, tagged};
use crate::support::wait::wait_until;

on_each_backend! {
    restored_log_that_has_grown_again_discards_the_state
    shorter_log_discards_the_state
    state_that_can_not_be_read_is_discarded
    other_folds_have_their_own_state
    boundary_with_the_same_key_has_no_state
    logs_of_one_database_have_their_own_states
    large_state_is_not_stored
    state_that_its_text_does_not_tell_is_not_stored
    state_without_an_order_is_stored
    fault_of_the_table_fails_no_decision
    name_is_checked
}

/// The log ends before the events after `kept`, as after a restore from a backup.
async fn restore<S: Tables>(log: &S::Log, kept: u64) {
    S::run(log, &format!("DELETE FROM @event WHERE position > {kept}")).await;
    let keys = format!("DELETE FROM @event_tag WHERE position > {kept}");
    S::run(log, &keys).await;
    if matches!(
        S::address(log),
        crate::support::backend::Address::Sqlite { .. }
    ) {
        let end = format!(
            "UPDATE @indexed SET through = min(through, {kept}), clearings = clearings + 1"
        );
        S::run(log, &end).await;
    }
}

async fn restored_log_that_has_grown_again_discards_the_state<S: Tables>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    restore::<S>(&log, 6).await;
    let store = S::connect(&log).await;
    fill(&store, 60).await;
    assert_eq!(see(&store).await, read(&store).await);
    let stats = store.stats();
    assert_eq!((stats.states_loaded, stats.states_discarded), (0, 1));
    // The state of the new events replaces it.
    wait_until_stored(&store, 1).await;
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(see(&store).await, read(&store).await);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}

async fn shorter_log_discards_the_state<S: Tables>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    restore::<S>(&log, 6).await;
    let store = S::connect(&log).await;
    assert_eq!(see(&store).await.len(), 6);
    assert_eq!(store.stats().states_discarded, 1);
    store.close().await;
}

async fn state_that_can_not_be_read_is_discarded<S: Tables>() {
    for damage in [
        "state = '['",
        "state = '[17]'",
        "bookmark = 'forty'",
        // It would accept any event.
        "bookmark = '20'",
    ] {
        let log = S::fresh_log().await;
        store_state::<S>(&log, 40).await;
        S::run(&log, &format!("UPDATE @kept_state SET {damage}")).await;
        let store = S::connect(&log).await;
        assert_eq!(see(&store).await, read(&store).await, "{damage}");
        let stats = store.stats();
        assert_eq!(
            (stats.states_loaded, stats.states_discarded),
            (0, 1),
            "{damage}"
        );
        // It is replaced.
        wait_until_stored(&store, 1).await;
        store.close().await;
        let store = S::connect(&log).await;
        assert_eq!(see(&store).await, read(&store).await, "{damage}");
        assert_eq!(store.stats().states_loaded, 1, "{damage}");
        store.close().await;
    }
}

/// Only the name, the version, the type of the state or the query differs.
async fn other_folds_have_their_own_state<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    for _ in 0..40 {
        store
            .append([event("Taken", &["a"]), tagged("a")])
            .await
            .unwrap();
    }
    let count = |query, step| Projector::new(query, 0, move |count: &mut u64, _| *count += step);
    let keep = |on: Projector<u64>, name, version| on.keep_stored(name, version, EVERY_TENTH());
    let seats = || keep(count(tag("a"), 1), "seats", 2);
    assert_eq!(decide(&store, seats(), Vec::new()).await, 80);
    wait_until_stored(&store, 1).await;
    store.close().await;

    let store = S::connect(&log).await;
    let twice = |name, version| keep(count(tag("a"), 2), name, version);
    assert_eq!(decide(&store, twice("seats", 3), Vec::new()).await, 160);
    assert_eq!(decide(&store, twice("seats", 1), Vec::new()).await, 160);
    assert_eq!(decide(&store, twice("pairs", 2), Vec::new()).await, 160);
    let taken = Query::builder()
        .event_type("Taken")
        .tag("a")
        .build()
        .unwrap();
    assert_eq!(
        decide(&store, keep(count(taken, 1), "seats", 2), Vec::new()).await,
        40
    );
    let last = keep(count(tag("a"), 1).last_only(), "seats", 2);
    assert_eq!(decide(&store, last, Vec::new()).await, 1);
    let negative = Projector::new(tag("a"), 0, |count: &mut i64, _| *count -= 1);
    let negative = negative.keep_stored("seats", 2, EVERY_TENTH());
    assert_eq!(decide(&store, negative, Vec::new()).await, -80);
    assert_eq!(store.stats().states_loaded, 0);
    store.close().await;
}

/// A key is a hash on PostgreSQL, so two boundaries can have one.
async fn boundary_with_the_same_key_has_no_state<S: Tables>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    // The row has the key of this boundary, and the state of another one.
    S::run(&log, "UPDATE @kept_state SET boundary = boundary || ' '").await;
    let store = S::connect(&log).await;
    S::run(&log, "UPDATE @kept_state SET state = '[]'").await;
    assert_eq!(see(&store).await.len(), 40);
    assert_eq!(store.stats().states_loaded, 0);
    store.close().await;
}

async fn logs_of_one_database_have_their_own_states<S: Tables>() {
    let logs = [S::fresh_log().await, S::fresh_log().await];
    store_state::<S>(&logs[0], 40).await;
    store_state::<S>(&logs[1], 20).await;
    for (log, events) in logs.iter().zip([40, 20]) {
        let store = S::connect(log).await;
        assert_eq!(see(&store).await.len(), events);
        assert_eq!(store.stats().states_loaded, 1);
        store.close().await;
    }
}

/// Nor does each try read the boundary again.
async fn large_state_is_not_stored<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    fill(&store, 40).await;
    let folds = Folds::default();
    let options = EVERY_TENTH().max_bytes(100);
    for _ in 0..40 {
        let on = folds.places().keep_stored("places", 1, options);
        decide(&store, on, vec![tagged("a")]).await;
    }
    wait_for_tasks(&folds).await;
    assert_eq!(store.stats().states_stored, 0);
    let stored = S::number(&log, "SELECT count(state) || '' FROM @kept_state").await;
    assert_eq!(stored, 0);
    store.close().await;
}

/// Waits until no task folds any more.
async fn wait_for_tasks(folds: &Folds) {
    wait_until("the tasks have ended", async || {
        Arc::strong_count(&folds.0) == 1
    })
    .await;
}

async fn state_that_its_text_does_not_tell_is_not_stored<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    fill(&store, 40).await;
    let marker = Arc::new(());
    let held = Arc::clone(&marker);
    let average = Projector::new(tag("a"), 0.0, move |average: &mut f64, _| {
        let _ = &held;
        *average = f64::NAN;
    });
    let average = average.keep_stored("average", 1, EVERY_TENTH());
    assert!(decide(&store, average, Vec::new()).await.is_nan());
    // JSON has only texts as keys of a map.
    let held = Arc::clone(&marker);
    let pairs = BTreeMap::<(u64, u64), u64>::new();
    let pairs = Projector::new(tag("a"), pairs, move |pairs: &mut BTreeMap<_, _>, event| {
        let _ = &held;
        pairs.insert((event.position().get(), 0), 1);
    });
    let pairs = pairs.keep_stored("pairs", 1, EVERY_TENTH());
    assert_eq!(decide(&store, pairs, Vec::new()).await.len(), 40);
    // It is read back, as another number.
    let held = Arc::clone(&marker);
    let shifted = Projector::new(tag("a"), Shifted(0), move |Shifted(count), _| {
        let _ = &held;
        *count += 1;
    });
    let shifted = shifted.keep_stored("shifted", 1, EVERY_TENTH());
    assert_eq!(decide(&store, shifted, Vec::new()).await.0, 40);
    wait_until("the tasks have ended", async || {
        Arc::strong_count(&marker) == 1
    })
    .await;
    assert_eq!(store.stats().states_stored, 0);
    store.close().await;
}

/// A number whose text is that of the next one.
#[derive(Clone, serde::Deserialize)]
struct Shifted(u64);

impl serde::Serialize for Shifted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0 + 1)
    }
}

/// A hash set or map has another order each time that it is written.
async fn state_without_an_order_is_stored<S: Tables>() {
    let log = S::fresh_log().await;
    let places = || {
        let none = HashMap::<u64, HashSet<u64>>::new();
        let places = Projector::new(tag("a"), none, |places: &mut HashMap<_, _>, event| {
            let place = event.position().get();
            places.insert(place, HashSet::from([place, 2 * place, 3 * place]));
        });
        places.keep_stored("places", 1, EVERY_TENTH())
    };
    let store = S::connect(&log).await;
    fill(&store, 40).await;
    let seen = decide(&store, places(), Vec::new()).await;
    wait_until_stored(&store, 1).await;
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(decide(&store, places(), Vec::new()).await, seen);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}

async fn fault_of_the_table_fails_no_decision<S: Tables>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    let store = S::connect(&log).await;
    S::run(&log, "ALTER TABLE @kept_state RENAME COLUMN state TO gone").await;
    fill(&store, 40).await;
    assert_eq!(see(&store).await.len(), 80);
    wait_until("loading and storing have failed", async || {
        store.stats().states_failed == 2
    })
    .await;
    store.close().await;
}

async fn name_is_checked<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    for name in ["", "a\0", &"n".repeat(256)] {
        let on = Projector::counter(tag("a")).keep_stored(name, 1, StateOptions::new());
        let refused = DecisionModel::new(on)
            .decide(&store, |_| Ok::<_, Error>(Vec::new()))
            .await;
        assert!(
            matches!(&refused, Err(Error::Invalid { field, .. }) if field == "name"),
            "{refused:?}"
        );
    }
    store.close().await;
}
