//! Events whose keys are gone: a restore or a publication that left `event_tag` out, or a part of it.

use std::ops::ControlFlow;

use dcb_core::postgres::{Config, PostgresStore, check_keys, rebuild_keys};
use dcb_core::{DecisionModel, Error, EventStore as _, KeyCheck, Projector};

use crate::support::events::{at, event, head, positions, read, tag, tagged, unless};
use crate::support::postgres::sql::{LogLock, Sql};
use crate::support::postgres::{connect, fresh_log};

const EVENTS: u64 = 20;
/// Events without tags before and after the others, which have no keys.
const UNTAGGED: u64 = 3;

/// A log of events with the tags `name:4` and so on.
async fn filled_log() -> Config {
    let log = fresh_log().await;
    let store = connect(&log).await;
    store.append(vec![event("Untagged", &[]); 3]).await.unwrap();
    for number in UNTAGGED + 1..=UNTAGGED + EVENTS {
        let name = format!("name:{number}");
        let event = event("NameTaken", &[&name, "all"]);
        store.append(event).await.unwrap();
    }
    store.append(vec![event("Untagged", &[]); 3]).await.unwrap();
    store.close().await;
    log
}

async fn tamper(log: &Config, sql: &str) {
    let mut session = Sql::connect(&log.url).await;
    session
        .run(&sql.replace("dcb.", &format!("{}.", log.schema)))
        .await;
    session.close().await;
}

async fn check(log: &Config) -> KeyCheck {
    let checked = check_keys(log, |_| ControlFlow::Continue(())).await;
    checked.expect("a check")
}

async fn assert_refused(log: &Config, lost: &str) {
    let opened = PostgresStore::connect(log.clone()).await;
    let Err(refused @ Error::KeysMissing { .. }) = opened else {
        panic!("{lost}: {opened:?}");
    };
    assert!(!refused.is_transient());
    let text = refused.to_string();
    assert!(text.contains("dcb_core::postgres::rebuild_keys"), "{text}");
    assert!(
        text.contains(&format!("{}.event_tag", log.schema)),
        "{text}"
    );
}

/// The log has all keys, and no name can be taken again.
async fn assert_mended(log: &Config) {
    let found = check(log).await;
    assert!(found.is_clean(), "{found:?}");
    assert_eq!(found.events, EVENTS + 2 * UNTAGGED);
    assert_eq!(found.keys, 2 * EVENTS);
    let store = connect(log).await;
    for number in UNTAGGED + 1..=UNTAGGED + EVENTS {
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
    tamper(&log, "TRUNCATE dcb.event_tag").await;
    assert_refused(&log, "all").await;
    let found = check(&log).await;
    assert_eq!(found.missing, 2 * EVENTS);
    assert_eq!(found.first_missing, Some(at(UNTAGGED + 1)));
    rebuild_keys(&log).await.unwrap();
    assert_mended(&log).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_at_either_end_are_noticed() {
    let log = filled_log().await;
    for lost in [
        "DELETE FROM dcb.event_tag WHERE position = (SELECT min(position) FROM dcb.event_tag)",
        "DELETE FROM dcb.event_tag WHERE position = (SELECT max(position) FROM dcb.event_tag)",
    ] {
        tamper(&log, lost).await;
        assert_refused(&log, lost).await;
        rebuild_keys(&log).await.unwrap();
        assert_mended(&log).await;
    }
}

/// Connecting looks at the ends of the log alone.
#[tokio::test(flavor = "multi_thread")]
async fn missing_keys_in_the_middle_are_found_by_the_check() {
    let log = filled_log().await;
    tamper(&log, "DELETE FROM dcb.event_tag WHERE position IN (7, 9)").await;
    connect(&log).await.close().await;
    let found = check(&log).await;
    assert_eq!((found.missing, found.stray), (4, 0));
    assert_eq!(found.first_missing, Some(at(7)));
    rebuild_keys(&log).await.unwrap();
    assert_mended(&log).await;
}

/// A key beyond the head would refuse the event that gets its position.
#[tokio::test(flavor = "multi_thread")]
async fn keys_of_no_event_are_found_and_removed() {
    let log = filled_log().await;
    let stray = "INSERT INTO dcb.event_tag SELECT key, position + 1000 FROM dcb.event_tag; \
                 INSERT INTO dcb.event_tag SELECT key + 1, position FROM dcb.event_tag WHERE position = 7";
    tamper(&log, stray).await;
    let found = check(&log).await;
    assert_eq!((found.missing, found.stray), (0, 2 * EVENTS + 2));
    rebuild_keys(&log).await.unwrap();
    assert_mended(&log).await;
}

/// An open store finds out without a scan.
#[tokio::test(flavor = "multi_thread")]
async fn health_notices_missing_keys() {
    let log = filled_log().await;
    let store = connect(&log).await;
    store.health().await.unwrap();
    tamper(&log, "DELETE FROM dcb.event_tag").await;
    let health = store.health().await;
    assert!(
        matches!(health, Err(Error::KeysMissing { .. })),
        "{health:?}"
    );
    rebuild_keys(&log).await.unwrap();
    store.health().await.unwrap();
    let again = store.append_if(tagged("b"), unless("name:5")).await;
    assert!(matches!(again, Err(Error::Conflict { .. })), "{again:?}");
    store.close().await;
}

/// The rebuild takes the log's lock, so no event is appended beside it without keys.
#[tokio::test(flavor = "multi_thread")]
async fn keys_are_rebuilt_beside_a_writer() {
    let log = filled_log().await;
    let before = EVENTS + 2 * UNTAGGED;
    let store = connect(&log).await;
    let writer = store.clone();
    let appends = tokio::spawn(async move {
        for number in 0..200 {
            let name = format!("late:{number}");
            let appended = writer.append_if(tagged(&name), unless(&name)).await;
            appended.expect("an append");
        }
    });
    while !appends.is_finished() {
        rebuild_keys(&log).await.unwrap();
    }
    appends.await.unwrap();
    assert_eq!(head(&store).await, before + 200);
    assert!(check(&log).await.is_clean());
    store.close().await;
    // The rebuild waits for an append that holds the lock.
    let mut lock = LogLock::take(&log).await;
    let rebuild = tokio::spawn({
        let log = log.clone();
        async move { rebuild_keys(&log).await }
    });
    while lock.waiting().await.is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(!rebuild.is_finished());
    lock.release().await;
    rebuild.await.unwrap().unwrap();
}

/// The check of a long log can be ended early.
#[tokio::test(flavor = "multi_thread")]
async fn check_reports_progress_and_ends_on_demand() {
    let log = fresh_log().await;
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
    let whole = whole.await.unwrap();
    assert_eq!((whole.events, whole.total_events), (21_000, 21_000));
    assert_eq!(events[..3], [(10_000, 0), (20_000, 0), (21_000, 0)]);
    assert_eq!(events[3], (21_000, 10_000));
    let part = check_keys(&log, |_| ControlFlow::Break(())).await.unwrap();
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
    tamper(&log, "DELETE FROM dcb.event_tag WHERE position IN (7, 9)").await;
    for keeps_state in [false, true] {
        assert_eq!(counted(&store, keeps_state).await, 0);
    }
    rebuild_keys(&log).await.unwrap();
    store.lanes().expect("the store has lanes").forget();
    for keeps_state in [false, true] {
        assert_eq!(counted(&store, keeps_state).await, 1);
    }
    store.close().await;
}

/// How many events a decision sees that appends nothing.
async fn counted(store: &PostgresStore, keeps_state: bool) -> u64 {
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
