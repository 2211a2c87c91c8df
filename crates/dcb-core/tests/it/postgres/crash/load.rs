//! Appends during failures, and a check of the log afterwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use dcb_core::postgres::PostgresStore;
use dcb_core::{Appended, Error, Event, EventStore, Position};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use uuid::Uuid;

use crate::support::events::{tagged, whole_log};
use crate::support::wait::wait_until;

/// An append and the store's answer.
pub(crate) struct Sent {
    events: Vec<Event>,
    answer: Result<Appended, Error>,
}

/// Callers that append until they are stopped.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    callers: Vec<JoinHandle<Vec<Sent>>>,
}

impl Load {
    /// Starts `callers` callers. Each append has one to five events.
    pub(crate) fn start(store: &PostgresStore, callers: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged = Arc::new(AtomicU64::new(0));
        let callers = (0..callers)
            .map(|number| {
                let (store, stop) = (store.clone(), Arc::clone(&stop));
                let acknowledged = Arc::clone(&acknowledged);
                tokio::spawn(async move {
                    let mut sent = Vec::new();
                    while !stop.load(Ordering::SeqCst) {
                        let one = append(&store, 1 + (number + sent.len()) % 5).await;
                        if one.answer.is_ok() {
                            acknowledged.fetch_add(1, Ordering::SeqCst);
                        } else {
                            // A stopped server refuses at once, so wait instead of spinning.
                            sleep(Duration::from_millis(5)).await;
                        }
                        sent.push(one);
                    }
                    sent
                })
            })
            .collect();
        Self {
            stop,
            acknowledged,
            callers,
        }
    }

    /// Waits until `appends` more appends are acknowledged.
    pub(crate) async fn wait_for(&self, appends: u64) {
        let enough = self.acknowledged.load(Ordering::SeqCst) + appends;
        wait_until("appends are acknowledged", async || {
            self.acknowledged.load(Ordering::SeqCst) >= enough
        })
        .await;
    }

    /// Stops the callers after their current append. Returns all appends.
    pub(crate) async fn stop(self) -> Vec<Sent> {
        self.stop.store(true, Ordering::SeqCst);
        let mut sent = Vec::new();
        for caller in self.callers {
            sent.extend(caller.await.expect("no caller panics"));
        }
        sent
    }
}

/// Appends `count` events. The caller chooses the ids if `count` is even.
async fn append(store: &PostgresStore, count: usize) -> Sent {
    let has_ids = count.is_multiple_of(2);
    let mark = Uuid::now_v7().to_string();
    let events: Vec<Event> = (0..count)
        .map(|_| match has_ids {
            true => tagged(&mark).with_id(Uuid::now_v7()),
            false => tagged(&mark),
        })
        .collect();
    let answer = store.append(events.clone()).await;
    Sent { events, answer }
}

/// The number of answers of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    pub(crate) acknowledged: usize,
    pub(crate) failed: usize,
    pub(crate) unknown: usize,
}

/// Checks the log against the answers. An acknowledged append is stored once, complete, at its
/// positions. A failed append is not stored. An append with unknown outcome is stored completely or
/// not at all. The log has no other events and no gaps.
pub(crate) async fn check(store: &PostgresStore, sent: &[Sent]) -> Outcomes {
    let log = whole_log(store).await;
    for (event, expected) in log.iter().zip(1..) {
        assert_eq!(event.position().get(), expected);
    }
    // Each append has a unique tag.
    let mut stored: HashMap<&str, Vec<u64>> = HashMap::new();
    for event in &log {
        let mark = event.tags().next().expect("each event has a tag");
        let positions = stored.entry(mark).or_default();
        positions.push(event.position().get());
    }
    let mut outcomes = Outcomes::default();
    for Sent { events, answer } in sent {
        let mark = events[0].tags().next().expect("each event has a tag");
        let found = stored.remove(mark).unwrap_or_default();
        match answer {
            Ok(appended) => {
                let acknowledged: Vec<u64> = appended.positions().map(Position::get).collect();
                assert_eq!(found, acknowledged);
                outcomes.acknowledged += 1;
            }
            Err(Error::OutcomeUnknown { .. }) => {
                assert!(
                    found.is_empty() || found.len() == events.len(),
                    "torn: {found:?}"
                );
                assert!(are_consecutive(&found), "torn: {found:?}");
                outcomes.unknown += 1;
            }
            Err(error) => {
                assert!(
                    found.is_empty(),
                    "failed with {error} but is stored at {found:?}"
                );
                outcomes.failed += 1;
            }
        }
    }
    assert!(stored.is_empty(), "unknown events: {stored:?}");
    outcomes
}

fn are_consecutive(positions: &[u64]) -> bool {
    positions.windows(2).all(|pair| pair[0] + 1 == pair[1])
}

/// Repeats the appends with unknown outcome, with the ids from the error.
pub(crate) async fn settle_unknown(store: &PostgresStore, sent: &mut [Sent]) {
    for Sent { events, answer } in sent {
        if let Err(Error::OutcomeUnknown { ids }) = answer {
            let again = events.iter().zip(ids);
            let again: Vec<Event> = again
                .map(|(event, id)| event.clone().with_id(*id))
                .collect();
            *answer = store.append(again).await;
            assert!(answer.is_ok(), "{answer:?}");
        }
    }
}
