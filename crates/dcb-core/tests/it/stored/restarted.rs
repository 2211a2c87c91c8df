//! A process that starts on a log whose states are stored.

use std::time::Duration;

use dcb_core::sqlite::{BlockingSqliteStore, SqliteStore};
use dcb_core::{AnyStore, DecisionModel, Error, EventStore as _, Projector, StateOptions};

use super::{Folds, Tables, decide, fill, read, see, store_state, wait_until_stored};
use crate::backends::on_each_backend;
use crate::support::backend::{Address, SharedStore};
use crate::support::events::{tag, tagged};

on_each_backend! {
    restarted_process_reads_what_is_new
    stored_state_is_the_fold_of_a_read
    processes_store_the_state_of_one_boundary
    boundary_that_one_process_fills_is_stored_again_and_again
    any_store_keeps_states
    store_without_a_cache_loads_the_state_for_each_decision
}

async fn restarted_process_reads_what_is_new<S: SharedStore>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    let store = S::connect(&log).await;
    fill(&store, 3).await;
    let folds = Folds::default();
    let seen = decide(&store, folds.stored(), vec![tagged("a")]).await;
    assert_eq!(seen.len(), 43);
    assert_eq!(folds.count(), 3);
    assert_eq!(store.stats().states_loaded, 1);
    // The lane is warm now.
    assert_eq!(see(&store).await.len(), 44);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}

/// A decision folds the events of others before they are committed, with the time of its clock.
async fn stored_state_is_the_fold_of_a_read<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    for round in 1..=3 {
        let callers = (0..20).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                if number % 5 == 0 {
                    store.append(tagged("b")).await.unwrap();
                }
                decide(&store, Folds::default().stored(), vec![tagged("a")]).await;
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            caller.await.unwrap();
        }
        see(&store).await;
        wait_until_stored(&store, round).await;
    }
    store.close().await;
    let store = S::connect(&log).await;
    assert_eq!(see(&store).await, read(&store).await);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}

async fn processes_store_the_state_of_one_boundary<S: SharedStore>() {
    let log = S::fresh_log().await;
    let stores = [S::connect(&log).await, S::connect(&log).await];
    let deciding = stores.clone().map(|store| {
        tokio::spawn(async move {
            let mut seen = Vec::new();
            for _ in 0..60 {
                let on = Projector::counter(tag("a")).keep_stored(
                    "taken",
                    1,
                    StateOptions::new().every(3),
                );
                seen.push(decide(&store, on, vec![tagged("a")]).await);
            }
            seen
        })
    });
    let mut seen = Vec::new();
    for task in deciding {
        seen.extend(task.await.unwrap());
    }
    // A seat is taken once.
    seen.sort_unstable();
    assert_eq!(seen, (0..120).collect::<Vec<_>>());
    for store in stores {
        assert_eq!(store.stats().states_failed, 0);
        store.close().await;
    }
}

/// The lane keeps the state, so nothing of it is read again.
async fn boundary_that_one_process_fills_is_stored_again_and_again<S: Tables>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    for round in 1..=4 {
        for _ in 0..10 {
            decide(&store, Folds::default().stored(), vec![tagged("a")]).await;
        }
        see(&store).await;
        wait_until_stored(&store, round).await;
    }
    assert_eq!(
        S::number(&log, "SELECT count(*) || '' FROM @kept_state").await,
        1
    );
    store.close().await;
    let store = S::connect(&log).await;
    let folds = Folds::default();
    assert_eq!(decide(&store, folds.stored(), Vec::new()).await.len(), 40);
    assert!(folds.count() < 10, "{}", folds.count());
    store.close().await;
}

async fn any_store_keeps_states<S: SharedStore>() {
    let log = S::fresh_log().await;
    store_state::<S>(&log, 40).await;
    let store = match S::address(&log) {
        Address::Sqlite { path } => AnyStore::open(path.to_str().unwrap()).await.unwrap(),
        Address::Postgres { url, schema } => {
            let config = dcb_core::postgres::Config::new(&url).schema(schema);
            let store = dcb_core::postgres::PostgresStore::connect(config).await;
            AnyStore::Postgres(store.unwrap())
        }
    };
    assert_eq!(see(&store).await.len(), 40);
    assert_eq!(store.stats().states_loaded, 1);
    store.close().await;
}

async fn store_without_a_cache_loads_the_state_for_each_decision<S: Tables>() {
    let mut log = S::fresh_log().await;
    S::without_cache(&mut log);
    store_state::<S>(&log, 40).await;
    let store = S::connect(&log).await;
    let folds = Folds::default();
    for seen in 40..45 {
        let places = decide(&store, folds.stored(), vec![tagged("a")]).await;
        assert_eq!(places.len(), seen);
    }
    assert_eq!(folds.count(), 1 + 2 + 3 + 4);
    assert_eq!(store.stats().states_loaded, 5);
    store.close().await;
}

#[test]
fn blocking_store_keeps_states() {
    let folder = tempfile::tempdir().unwrap();
    let config = dcb_core::sqlite::Config::file(folder.path().join("log.db"));
    let seen = |store: &BlockingSqliteStore, on| {
        let mut seen = Vec::new();
        let model = DecisionModel::new(on);
        let decided = store.decide(&model, |places| {
            seen = places;
            Ok::<_, Error>(Vec::new())
        });
        decided.unwrap();
        seen
    };
    let store = BlockingSqliteStore::open(config.clone()).unwrap();
    store.append(vec![tagged("a"); 40]).unwrap();
    seen(&store, Folds::default().stored());
    let give_up = std::time::Instant::now() + Duration::from_secs(60);
    while store.stats().states_stored == 0 {
        assert!(std::time::Instant::now() < give_up, "no state is stored");
        std::thread::sleep(Duration::from_millis(2));
    }
    store.close();
    let store = BlockingSqliteStore::open(config).unwrap();
    store.append(vec![tagged("a"); 3]).unwrap();
    let folds = Folds::default();
    assert_eq!(seen(&store, folds.stored()).len(), 43);
    assert_eq!(folds.count(), 3);
    assert_eq!(store.stats().states_loaded, 1);
    store.close();
}

/// A log in memory has nothing that outlives it.
#[tokio::test(flavor = "multi_thread")]
async fn log_in_memory_keeps_no_state() {
    let store = SqliteStore::open(dcb_core::sqlite::Config::memory())
        .await
        .unwrap();
    fill(&store, 40).await;
    assert_eq!(see(&store).await.len(), 40);
    assert!(store.kept_states().is_none());
    let stats = store.stats();
    assert_eq!((stats.states_stored, stats.states_failed), (0, 0));
    store.close().await;
}
