//! `clear` on a log that other callers append to and read.

use std::collections::HashMap;

use conformance_suite::effort;
use dcb_conformance::CALLERS;
use dcb_core::{
    Append, Command, Error, Fault, Position, Query, ReadOptions, SubscribeOptions, Tracking,
};
use tokio::sync::watch;
use uuid::Uuid;

use super::on_each_backend;
use crate::support::backend::SharedStore;
use crate::support::events::{at, head, positions, tag, tagged, unless, whole_log};

on_each_backend! {
    clear_empties_the_log_and_restarts_positions
    after_from_before_clear_is_refused
    condition_after_clear_ignores_earlier_appends
    concurrent_appends_land_before_or_after_clear
}

async fn clear_empties_the_log_and_restarts_positions<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let tracking = Tracking::new("upstream", 7).unwrap();
    let command = Command::builder("Do").build().unwrap();
    let full = Append::new([tagged("a"), tagged("b")]).tracking(tracking);
    store.submit(full.command(command)).await.unwrap();
    store.clear().await.unwrap();
    assert_eq!(store.head().await.unwrap(), None);
    assert_eq!(store.count(&tag("a")).await.unwrap(), 0);
    assert_eq!(store.tracked("upstream").await.unwrap(), None);
    assert_eq!(store.commands(None, 10).await.unwrap(), []);
    let again = store.append_if(tagged("a"), unless("a")).await.unwrap();
    assert_eq!(again.first(), Position::FIRST);
    store.clear().await.unwrap();
    store.clear().await.unwrap();
    assert_eq!(head(&store).await, 0);
    store.close().await;
    assert!(matches!(
        store.clear().await,
        Err(Error::Fault(Fault::Closed))
    ));
}

async fn after_from_before_clear_is_refused<S: SharedStore>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    store.append(["a", "b", "c"].map(tagged)).await.unwrap();
    store.clear().await.unwrap();
    store.append(tagged("d")).await.unwrap();
    let stale = unless("a").after(at(3));
    let refused = store.append_if(tagged("e"), stale).await;
    assert!(
        matches!(refused, Err(Error::AfterBeyondHead { after, head })
            if after == at(3) && head == Some(at(1))),
        "{refused:?}"
    );
    let read = ReadOptions::new().after(at(3));
    let refused = store.query(&Query::all(), read).await;
    assert!(matches!(refused, Err(Error::AfterBeyondHead { .. })));
    let mut events = store.subscribe(Query::all(), at(3), SubscribeOptions::new());
    let refused = events.next().await;
    assert!(matches!(refused, Some(Err(Error::AfterBeyondHead { .. }))));
    store.close().await;
}

/// A writer remembers its last appends, and trusts this memory while the last event of the log has
/// the position and id that it remembers. Here the log is cleared, and then another store appends
/// an event with the same id at the same position.
async fn condition_after_clear_ignores_earlier_appends<S: SharedStore>() {
    let log = S::fresh_log().await;
    let (store, other) = (S::connect(&log).await, S::connect(&log).await);
    let known = tagged("known").with_id(Uuid::from_u128(1));
    store.append([tagged("a"), known.clone()]).await.unwrap();
    store.clear().await.unwrap();
    other.append([tagged("b"), known]).await.unwrap();
    store.append_if(tagged("c"), unless("a")).await.unwrap();
    let conflict = store.append_if(tagged("d"), unless("b")).await;
    assert!(
        matches!(conflict, Err(Error::Conflict { position, .. }) if position == at(1)),
        "{conflict:?}"
    );
    store.close().await;
    other.close().await;
}

/// Appends until `stop` is set, then three more times. Returns the ids and positions of these
/// three, which come after the last clear.
async fn append<S: SharedStore>(
    store: S,
    caller: usize,
    stop: watch::Receiver<bool>,
) -> HashMap<Uuid, u64> {
    let mut kept = HashMap::new();
    for round in 0_u128.. {
        let last = *stop.borrow();
        let id = Uuid::from_u128(round << 32 | caller as u128);
        let name = format!("caller {caller}, round {round}");
        let event = tagged(&name).with_id(id);
        let position = store.append_if(event, unless(&name)).await.unwrap().first();
        if last {
            kept.insert(id, position.get());
        }
        if kept.len() == 3 {
            break;
        }
    }
    kept
}

async fn concurrent_appends_land_before_or_after_clear<S: SharedStore>() {
    for callers in CALLERS {
        let log = S::fresh_log().await;
        let stores = [S::connect(&log).await, S::connect(&log).await];
        let (stop, stopped) = watch::channel(false);
        let appending: Vec<_> = (0..callers)
            .map(|caller| {
                let store = stores[caller % 2].clone();
                tokio::spawn(append(store, caller, stopped.clone()))
            })
            .collect();
        for round in 0..effort(10) {
            stores[round % 2].clear().await.unwrap();
            // The log has no gaps at any time.
            let log = positions(&whole_log(&stores[1 - round % 2]).await);
            assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
        }
        stop.send_replace(true);
        let mut kept = HashMap::new();
        for task in appending {
            kept.extend(task.await.unwrap());
        }
        let log = whole_log(&stores[0]).await;
        let numbers: Vec<u64> = (1..=log.len() as u64).collect();
        assert_eq!(positions(&log), numbers);
        let stored: HashMap<_, _> = log
            .iter()
            .map(|event| (event.id(), event.position()))
            .collect();
        for (id, position) in kept {
            assert_eq!(stored.get(&id).copied(), Position::new(position));
        }
        for store in stores {
            store.close().await;
        }
    }
}
