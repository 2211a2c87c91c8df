//! A log that is emptied while others append to it and read it.

use std::collections::HashMap;

use dcb_core::conformance::{CALLERS, effort};
use dcb_core::{
    Append, Command, Error, EventStore as _, Position, Query, ReadOptions, SubscribeOptions,
    Tracking,
};
use tokio::sync::watch;
use uuid::Uuid;

use crate::support::events::{at, head, positions, tag, tagged, unless, whole_log};
use crate::support::{Store, connect, fresh_log};

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_and_positions_begin_anew() {
    let log = fresh_log().await;
    let store = connect(&log).await;
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
    assert!(matches!(store.clear().await, Err(Error::Closed)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_after_is_refused() {
    let log = fresh_log().await;
    let store = connect(&log).await;
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
    let mut events = store.subscribe(Query::all(), Some(at(3)), SubscribeOptions::new());
    let refused = events.next().await;
    assert!(matches!(refused, Some(Err(Error::AfterBeyondHead { .. }))));
    store.close().await;
}

/// What a writer remembers of its last appends is known by position and id of the last of them. The
/// same id at the same position again must not bring it back.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_appended_before_answers_no_condition() {
    let log = fresh_log().await;
    let (own, other) = (connect(&log).await, connect(&log).await);
    let known = tagged("known").with_id(Uuid::from_u128(1));
    own.append([tagged("a"), known.clone()]).await.unwrap();
    own.clear().await.unwrap();
    other.append([tagged("b"), known]).await.unwrap();
    own.append_if(tagged("c"), unless("a")).await.unwrap();
    let conflict = own.append_if(tagged("d"), unless("b")).await;
    assert!(
        matches!(conflict, Err(Error::Conflict { position }) if position == at(1)),
        "{conflict:?}"
    );
    own.close().await;
    other.close().await;
}

/// Appends until it is told to stop; gives what it was told after it saw the last clearing end.
async fn append(store: Store, caller: usize, stop: watch::Receiver<bool>) -> HashMap<Uuid, u64> {
    let mut told = HashMap::new();
    for round in 0_u128.. {
        let last = *stop.borrow();
        let id = Uuid::from_u128(round << 32 | caller as u128);
        let name = format!("of {caller} in {round}");
        let event = tagged(&name).with_id(id);
        let position = store.append_if(event, unless(&name)).await.unwrap().first();
        if last {
            told.insert(id, position.get());
        }
        if told.len() == 3 {
            break;
        }
    }
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_come_before_it_or_after_it() {
    for callers in CALLERS {
        let log = fresh_log().await;
        let stores = [connect(&log).await, connect(&log).await];
        let (stop, stopped) = watch::channel(false);
        let appending: Vec<_> = (0..callers)
            .map(|caller| {
                let store = stores[caller % 2].clone();
                tokio::spawn(append(store, caller, stopped.clone()))
            })
            .collect();
        for round in 0..effort(10) {
            stores[round % 2].clear().await.unwrap();
            // Whatever the moment, the log is whole.
            let log = positions(&whole_log(&stores[1 - round % 2]).await);
            assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
        }
        stop.send_replace(true);
        let mut told = HashMap::new();
        for task in appending {
            told.extend(task.await.unwrap());
        }
        let log = whole_log(&stores[0]).await;
        let numbers: Vec<u64> = (1..=log.len() as u64).collect();
        assert_eq!(positions(&log), numbers);
        let stored: HashMap<_, _> = log
            .iter()
            .map(|event| (event.id(), event.position()))
            .collect();
        for (id, position) in told {
            assert_eq!(stored.get(&id).copied(), Position::new(position));
        }
        for store in stores {
            store.close().await;
        }
    }
}
