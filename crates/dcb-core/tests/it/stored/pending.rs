//! A state that is kept in memory, while a commit is under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{Folds, Places, decide, fill, read};
use crate::backends::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::tagged;
use crate::support::wait::wait_until;
use dcb_core::Projector;

on_each_backend! {
    kept_state_has_no_estimates
}

const FILLED: u64 = 70;

/// Folds as [`Folds::places`], and waits at the first event after the filled ones.
#[derive(Clone, Default)]
struct Slow {
    is_reached: Arc<AtomicBool>,
    is_released: Arc<AtomicBool>,
}

impl Slow {
    fn places(&self) -> Projector<Places> {
        let slow = self.clone();
        let query = crate::support::events::tag("a");
        Projector::new(query, Places::new(), move |places: &mut Places, event| {
            if event.position().get() > FILLED {
                tokio::task::block_in_place(|| slow.wait());
            }
            places.push((event.position().get(), event.recorded_at()));
        })
    }

    fn wait(&self) {
        self.is_reached.store(true, Ordering::Release);
        while !self.is_released.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// An event that is not committed has an estimated position and time. A member folded it, the commit
/// ended, and the lane kept that state for all later decisions.
async fn kept_state_has_no_estimates<S: SharedStore>() {
    let log = S::fresh_log().await;
    let (store, other) = (S::connect(&log).await, S::connect(&log).await);
    let kept = || Folds::default().places().keep("places", 1);
    fill(&store, FILLED as usize).await;
    decide(&store, kept(), Vec::new()).await;
    // The lane does not read this event, so its next position is not the one that it estimates.
    other.append(tagged("b")).await.unwrap();
    let lock = S::lock(&log).await;
    let committed = tokio::spawn({
        let (store, kept) = (store.clone(), kept());
        async move { decide(&store, kept, vec![tagged("a"); 100]).await }
    });
    wait_until("the decision is made", async || {
        !store.lanes().unwrap().is_empty()
    })
    .await;
    let slow = Slow::default();
    let folding = tokio::spawn({
        let (store, slow) = (store.clone(), slow.places().keep("places", 1));
        async move { decide(&store, slow, Vec::new()).await }
    });
    wait_until("it is folded", async || {
        slow.is_reached.load(Ordering::Acquire)
    })
    .await;
    S::unlock(lock).await;
    committed.await.unwrap();
    slow.is_released.store(true, Ordering::Release);
    folding.await.unwrap();
    let seen = decide(&store, kept(), Vec::new()).await;
    let positions = |places: &Places| {
        places
            .iter()
            .map(|(position, _)| *position)
            .collect::<Vec<_>>()
    };
    assert_eq!(positions(&seen), positions(&read(&store).await));
    for store in [store, other] {
        store.close().await;
    }
}
