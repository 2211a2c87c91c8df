//! Events whose keys are gone: a copy of the tables that left `dcb_event_tag` out, or a part of it.

use std::ops::ControlFlow;

use dcb_core::sqlite::{SqliteStore, check_keys, rebuild_keys};
use dcb_core::{DecisionModel, Error, EventStore as _, Fault, KeyCheck, Projector};

use crate::support::events::{at, event, head, positions, read, tag, tagged, unless};
use crate::support::sqlite::files::{LogLock, foreign};
use crate::support::sqlite::{Log, connect, fresh_log};

const EVENTS: u64 = 20;

/// A closed log of events with the tags `name:1` and so on. All keys but the last event's are in the
/// file.
async fn filled_log() -> Log {
    let mut log = fresh_log().await;
    log.keys_in_memory = 0;
    let store = connect(&log).await;
    for number in 1..=EVENTS {
        let name = format!("name:{number}");
        let event = event("NameTaken", &[&name, "all"]);
        store.append(event).await.unwrap();
    }
    store.close().await;
    log
}

fn tamper(log: &Log, sql: &str) {
    foreign(log).execute_batch(sql).expect(sql);
}

fn check(log: &Log) -> KeyCheck {
    check_keys(log, |_| ControlFlow::Continue(())).expect("a check")
}

async fn assert_refused(log: &Log, lost: &str) {
    let opened = SqliteStore::open((**log).clone()).await;
    let Err(refused @ Error::KeysMissing { .. }) = opened else {
        panic!("{lost}: {opened:?}");
    };
    assert!(!refused.is_transient());
    let text = refused.to_string();
    assert!(text.contains("dcb_core::sqlite::rebuild_keys"), "{text}");
}

/// The log has all keys, and no name can be taken again.
async fn assert_mended(log: &Log) {
    let found = check(log);
    assert!(found.is_clean(), "{found:?}");
    assert_eq!((found.events, found.total_events), (EVENTS, EVENTS));
    let store = connect(log).await;
    for number in 1..=EVENTS {
        let name = format!("name:{number}");
        assert_eq!(positions(&read(&store, &tag(&name)).await), [number]);
        let again = store.append_if(tagged(&name), unless(&name)).await;
        assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    }
    store.health().await.unwrap();
    store.close().await;
}

/// Every name could be taken a second time.
#[tokio::test(flavor = "multi_thread")]
async fn log_without_keys_is_refused_until_they_are_rebuilt() {
    let log = filled_log().await;
    tamper(&log, "DELETE FROM dcb_event_tag");
    assert_refused(&log, "all").await;
    let found = check(&log);
    // Each event has a key for each tag, and one for searches by type.
    assert_eq!(found.missing, 3 * (EVENTS - 1));
    assert_eq!(found.first_missing, Some(at(1)));
    rebuild_keys(&log).unwrap();
    assert_mended(&log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_at_either_end_are_noticed() {
    let log = filled_log().await;
    for lost in [
        "DELETE FROM dcb_event_tag WHERE position = 1",
        "DELETE FROM dcb_event_tag WHERE position = (SELECT through FROM dcb_indexed)",
        "DELETE FROM dcb_indexed",
        "UPDATE dcb_indexed SET through = 1000000",
    ] {
        tamper(&log, lost);
        assert_refused(&log, lost).await;
        rebuild_keys(&log).unwrap();
        assert_mended(&log).await;
    }
}

/// Opening the log looks at its ends alone.
#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_in_the_middle_are_found_by_the_check() {
    let log = filled_log().await;
    tamper(&log, "DELETE FROM dcb_event_tag WHERE position IN (7, 9)");
    connect(&log).await.close().await;
    let found = check(&log);
    assert_eq!((found.missing, found.stray), (6, 0));
    assert_eq!(found.first_missing, Some(at(7)));
    rebuild_keys(&log).unwrap();
    assert_mended(&log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_no_event_are_found_and_removed() {
    let log = filled_log().await;
    let stray =
        "INSERT INTO dcb_event_tag SELECT key + 1, position FROM dcb_event_tag WHERE position = 3";
    tamper(&log, stray);
    let found = check(&log);
    assert_eq!((found.missing, found.stray), (0, 3));
    rebuild_keys(&log).unwrap();
    assert_mended(&log).await;
}

/// An open store finds out without a scan.
#[tokio::test(flavor = "multi_thread")]
async fn health_notices_missing_keys() {
    let log = filled_log().await;
    let store = connect(&log).await;
    store.health().await.unwrap();
    tamper(&log, "DELETE FROM dcb_event_tag");
    let health = store.health().await;
    assert!(
        matches!(health, Err(Error::KeysMissing { .. })),
        "{health:?}"
    );
    rebuild_keys(&log).unwrap();
    store.health().await.unwrap();
    // The store has the old end of the index in memory.
    assert_eq!(read(&store, &tag("all")).await.len() as u64, EVENTS);
    let again = store.append_if(tagged("b"), unless("name:5")).await;
    assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    store.close().await;
}

/// The rebuild takes the write lock, so no event is appended beside it without keys.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rebuilt_beside_a_writer() {
    let log = filled_log().await;
    let store = connect(&log).await;
    let writer = store.clone();
    let appends = tokio::spawn(async move {
        for number in 0..300 {
            let name = format!("late:{number}");
            let appended = writer.append_if(tagged(&name), unless(&name)).await;
            appended.expect("an append");
        }
    });
    while !appends.is_finished() {
        let log = log.clone();
        let rebuilt = tokio::task::spawn_blocking(move || rebuild_keys(&log));
        rebuilt.await.unwrap().unwrap();
    }
    appends.await.unwrap();
    assert_eq!(head(&store).await, EVENTS + 300);
    for number in 0..300 {
        let name = format!("late:{number}");
        assert_eq!(read(&store, &tag(&name)).await.len(), 1, "{name}");
    }
    assert!(check(&log).is_clean());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rebuild_waits_for_the_lock_within_its_time() {
    let mut log = filled_log().await;
    log.write_timeout = std::time::Duration::from_millis(50);
    let lock = LogLock::take(&log);
    let rebuilt = rebuild_keys(&log);
    assert!(
        matches!(rebuilt, Err(Error::Fault(Fault::Locked(_)))),
        "{rebuilt:?}"
    );
    lock.release();
    assert_mended(&log).await;
}

/// The check of a long log can be ended early.
#[tokio::test(flavor = "multi_thread")]
async fn check_reports_progress_and_ends_on_demand() {
    let mut log = fresh_log().await;
    log.keys_in_memory = 0;
    let store = connect(&log).await;
    for _ in 0..21 {
        store.append(vec![tagged("a"); 1000]).await.unwrap();
    }
    store.close().await;
    let mut events = Vec::new();
    let whole = check_keys(&log, |so_far| {
        events.push((so_far.events, so_far.keys));
        ControlFlow::Continue(())
    });
    let whole = whole.unwrap();
    assert_eq!((whole.events, whole.total_events), (21_000, 21_000));
    assert_eq!(events[..3], [(10_000, 0), (20_000, 0), (21_000, 0)]);
    assert_eq!(events[3], (21_000, 10_000));
    let part = check_keys(&log, |_| ControlFlow::Break(())).unwrap();
    assert_eq!((part.events, part.keys), (10_000, 0));
}

/// A lane of an open store has read without the missing keys.
#[tokio::test(flavor = "multi_thread")]
async fn decisions_see_events_whose_keys_were_rebuilt() {
    let log = filled_log().await;
    let store = connect(&log).await;
    // The store reads a short log without keys.
    store
        .append(vec![event("Untagged", &[]); 1000])
        .await
        .unwrap();
    tamper(&log, "DELETE FROM dcb_event_tag WHERE position IN (7, 9)");
    for keeps_state in [false, true] {
        assert_eq!(counted(&store, keeps_state).await, 0);
    }
    rebuild_keys(&log).unwrap();
    store.lanes().expect("the store has lanes").forget();
    for keeps_state in [false, true] {
        assert_eq!(counted(&store, keeps_state).await, 1);
    }
    store.close().await;
}

/// How many events a decision sees that appends nothing.
async fn counted(store: &SqliteStore, keeps_state: bool) -> u64 {
    let counter = Projector::counter(tag("name:7"));
    let model = DecisionModel::new(match keeps_state {
        true => counter.keep("taken", 1),
        false => counter,
    });
    let mut counted = 0;
    let decide = |seen| {
        counted = seen;
        Ok::<_, Error>(Vec::new())
    };
    model.decide(store, decide).await.unwrap();
    counted
}
