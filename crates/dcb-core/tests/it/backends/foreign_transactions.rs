//! Checks for tests with open transactions of other users.

use std::sync::Arc;

use dcb_conformance::CALLERS;
use dcb_core::{Error, ReadOptions};
use tokio::sync::Barrier;

use crate::support::backend::SharedStore;
use crate::support::events::{at, head, positions, tag, tagged, unless};

/// Asserts that concurrent appends conflict with an event that was just committed.
async fn assert_conflict(store: &impl SharedStore, callers: usize, name: &str, before: u64) {
    let conflict = append(store, name).await;
    let barrier = Arc::new(Barrier::new(callers));
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let (store, barrier) = (store.clone(), Arc::clone(&barrier));
            let condition = unless(name).after(at(before));
            tokio::spawn(async move {
                barrier.wait().await;
                store.append_if(tagged("late"), condition).await
            })
        })
        .collect();
    for task in tasks {
        let answer = task.await.unwrap();
        assert!(
            matches!(&answer, Err(Error::Conflict { position, .. }) if position.get() == conflict),
            "expected a conflict at {conflict}: {answer:?}"
        );
    }
    let options = ReadOptions::new().after(at(before));
    let page = store.query(&tag(name), options).await.unwrap();
    assert_eq!(positions(&page.events), [conflict]);
}

pub(crate) async fn append(store: &impl SharedStore, name: &str) -> u64 {
    store.append(tagged(name)).await.unwrap().first().get()
}

/// Asserts that committed events conflict while the foreign transaction is open.
pub(crate) async fn assert_nothing_is_hidden<S: SharedStore>(log: &S::Log) {
    let store = S::connect(log).await;
    store.append(tagged("first")).await.unwrap();
    for callers in CALLERS {
        let before = head(&store).await;
        assert_conflict(&store, callers, &format!("of {callers}"), before).await;
    }
    store.close().await;
}
