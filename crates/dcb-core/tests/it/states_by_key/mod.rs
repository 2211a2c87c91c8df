//! Read models without SQL: states by key are those that a read of the log folds, with each event once.

mod form;
mod ground;

use std::collections::BTreeMap;

use dcb_core::{
    Bookmark, Error, Event, EventStore, ProjectionRunner, Projector, ProjectorBuilder, Query,
    ReadModel as _, SliceKey, SliceOptions, SlicedRunner, StatesByKey, SubscribeOptions,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use self::ground::Ground;
use crate::backends::on_each_backend;
use crate::support::events::{at, whole_log};

on_each_backend! {
    states_are_folds_of_the_events_of_their_keys
    states_are_listed_in_pages
    failed_batch_changes_neither_states_nor_checkpoint
    rebuild_begins_from_the_initial_state
    workers_fold_different_keys_in_parallel
    event_of_no_or_a_long_key_is_refused
    longest_key_has_a_state
    stored_state_of_another_form_is_refused
    state_that_json_cannot_tell_is_refused
}

/// The balance, and the last amounts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Account {
    balance: i64,
    /// A text that SQL or JSON could spoil.
    memo: Option<String>,
    rate: f64,
}

type States = StatesByKey<Account>;

const MEMO: &str = "it's \"quoted\" \\ \u{0}\n✓ @ $1 ?1";

/// A closed account is in its initial state.
fn account() -> ProjectorBuilder<Account> {
    Projector::builder(Account::default())
        .on_json("Paid", |account, amount: i64| account.balance += amount)
        .on("Noted", |account, _| account.memo = Some(MEMO.to_owned()))
        .on("Closed", |account, _| *account = Account::default())
        .on_json("Rated", |account, zero: f64| account.rate = 1.0 / zero)
}

/// States in a table of their own: the tests share a database.
fn states() -> (String, States) {
    let table = format!("accounts_{}", Uuid::now_v7().simple());
    let states = with_key(&table, SliceKey::tag("account")).unwrap();
    (table, states)
}

fn with_key(table: &str, key: SliceKey) -> Result<States, Error> {
    StatesByKey::new(table, key, account().build()?)
}

fn event(event_type: &str, account: &str, data: i64) -> Event {
    let event = Event::builder(event_type).tag_pair("account", account);
    event.json(&data).build().unwrap()
}

fn small() -> SubscribeOptions {
    SubscribeOptions::new().batch_size(3)
}

/// Applies the whole log, whichever events the states need.
async fn catch_up<S: Ground>(store: &S, log: &S::Log, states: &States) -> Result<(), Error> {
    let model = S::model(log, states);
    let mut runner = ProjectionRunner::new(store.clone(), Query::all(), model).options(small());
    runner.catch_up().await.map(drop)
}

async fn list<S: Ground>(store: &S, states: &States) -> BTreeMap<String, Account> {
    let listed = store.reader(states).list(None, 1_000).await.unwrap();
    listed.into_iter().collect()
}

/// The states that a read of the log folds, without the initial ones.
async fn expected(store: &impl EventStore) -> BTreeMap<String, Account> {
    let mut expected = BTreeMap::new();
    for event in whole_log(store).await {
        let Some(name) = event.tag_value("account") else {
            continue;
        };
        let of_account = account().tag_pair("account", name).build().unwrap();
        let state = store.project(&of_account).await.unwrap().state;
        if state != Account::default() {
            expected.insert(name.to_owned(), state);
        }
    }
    expected
}

async fn append(store: &impl EventStore, events: impl IntoIterator<Item = Event>) {
    let events: Vec<_> = events.into_iter().collect();
    store.append(events).await.unwrap();
}

async fn states_are_folds_of_the_events_of_their_keys<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (_, states) = states();
    let reader = store.reader(&states);
    assert_eq!(reader.get("a").await.unwrap(), Account::default());
    assert_eq!(reader.list(None, 10).await.unwrap(), []);
    let other = Event::builder("Offered").build().unwrap();
    append(
        &store,
        [other, event("Opened", "a", 9), event("Closed", "a", 0)],
    )
    .await;
    catch_up(&store, &log, &states).await.unwrap();
    assert_eq!(list(&store, &states).await, BTreeMap::new());
    for round in 0..4 {
        append(
            &store,
            [
                event("Paid", "a", 5),
                event("Paid", "it's \"b\" ✓", 7 + round),
                event("Noted", "it's \"b\" ✓", 0),
                event("Paid", "", -3),
                event("Paid", "a", 1),
                event("Opened", "d", 1),
                event(["Closed", "Paid"][round as usize % 2], "c", 4),
            ],
        )
        .await;
        // Each time by another runner, from the checkpoint.
        catch_up(&store, &log, &states).await.unwrap();
        assert_eq!(list(&store, &states).await, expected(&store).await);
    }
    let b = reader.get("it's \"b\" ✓").await.unwrap();
    assert_eq!((b.balance, b.memo.as_deref()), (34, Some(MEMO)));
    assert_eq!(reader.get("a").await.unwrap().balance, 24);
    assert_eq!(reader.get("c").await.unwrap().balance, 4);
    append(&store, [event("Closed", "c", 0)]).await;
    catch_up(&store, &log, &states).await.unwrap();
    assert_eq!(reader.get("c").await.unwrap(), Account::default());
    assert!(!list(&store, &states).await.contains_key("c"));
    store.close().await;
}

async fn states_are_listed_in_pages<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (_, states) = states();
    let keys = ["", "B", "a", "a b", "ab", "é", "✓"];
    append(&store, keys.map(|key| event("Paid", key, 1))).await;
    catch_up(&store, &log, &states).await.unwrap();
    let reader = store.reader(&states);
    let mut listed: Vec<String> = Vec::new();
    loop {
        let after = listed.last().map(String::as_str);
        let page = reader.list(after, 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 2);
        listed.extend(page.into_iter().map(|(key, _)| key));
    }
    assert_eq!(listed, keys);
    let none: Vec<(String, Account)> = reader.list(None, 0).await.unwrap();
    assert_eq!(none, []);
    let from_between = reader.list(Some("aa"), 1).await.unwrap();
    assert_eq!(from_between[0].0, "ab");
    store.close().await;
}

async fn failed_batch_changes_neither_states_nor_checkpoint<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (_, states) = states();
    append(&store, ["a", "b", "c"].map(|key| event("Paid", key, 1))).await;
    catch_up(&store, &log, &states).await.unwrap();
    let before = list(&store, &states).await;
    // The second batch has an event that the fold refuses, after others.
    let unreadable = Event::builder("Paid").tag("account:b").json(&"much");
    append(
        &store,
        [
            event("Paid", "a", 10),
            event("Closed", "c", 0),
            unreadable.build().unwrap(),
        ],
    )
    .await;
    let failed = catch_up(&store, &log, &states).await.unwrap_err();
    assert!(matches!(failed, Error::Handler { .. }), "{failed:?}");
    assert!(failed.to_string().contains("position 6"), "{failed}");
    assert_eq!(list(&store, &states).await, before);
    let checkpoint = S::model(&log, &states).checkpoint().await.unwrap();
    assert_eq!(Bookmark::position_of(checkpoint), Some(at(3)));
    store.close().await;
}

async fn rebuild_begins_from_the_initial_state<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (table, states) = states();
    append(&store, (0..20).map(|n| event("Paid", ["a", "b"][n % 2], 1))).await;
    let model = S::model(&log, &states);
    let mut runner = ProjectionRunner::new(store.clone(), states.query(), model).options(small());
    // There is no table yet.
    runner.rebuild().await.unwrap();
    let expected = expected(&store).await;
    assert_eq!(list(&store, &states).await, expected);
    S::run(&log, &format!("INSERT INTO {table} VALUES ('x', '{{}}')")).await;
    runner.rebuild().await.unwrap();
    assert_eq!(list(&store, &states).await, expected);
    store.close().await;
}

/// Their first batches create the table together.
async fn workers_fold_different_keys_in_parallel<S: Ground>() {
    for _ in 0..2 {
        let log = S::fresh_log().await;
        let store = S::connect(&log).await;
        let (_, states) = states();
        for n in 0..10 {
            let paid = |account: i64| event("Paid", &account.to_string(), n * account);
            append(&store, (0..30).map(paid)).await;
        }
        let model = S::sliced(&log, &states);
        let mut member = SlicedRunner::new(store.clone(), states.query(), states.key(), model)
            .options(
                SliceOptions::new()
                    .slices(8)
                    .workers(8)
                    .read(SubscribeOptions::new().batch_size(64)),
            );
        member.catch_up().await.unwrap();
        let listed = list(&store, &states).await;
        assert_eq!(listed.len(), 29, "account 0 is in its initial state");
        assert_eq!(listed, expected(&store).await);
        store.close().await;
    }
}

async fn event_of_no_or_a_long_key_is_refused<S: Ground>() {
    let long = "é".repeat(1_301);
    for key in [None, Some(long.as_str()), Some("a\0b")] {
        let log = S::fresh_log().await;
        let store = S::connect(&log).await;
        let table = format!("accounts_{}", Uuid::now_v7().simple());
        let by = key.map(str::to_owned);
        let states = with_key(&table, SliceKey::by(move |_| by.clone())).unwrap();
        append(&store, [event("Paid", "a", 1)]).await;
        let failed = catch_up(&store, &log, &states).await.unwrap_err();
        let Error::Handler { source, .. } = &failed else {
            panic!("{failed:?}");
        };
        let why = source.to_string();
        let expected = match key {
            None => "position 1",
            Some(_) => "key",
        };
        assert!(why.contains(expected), "{why}");
        assert_eq!(list(&store, &states).await, BTreeMap::new());
        store.close().await;
    }
}

/// An index of PostgreSQL holds it, even if its bytes can't be compressed.
async fn longest_key_has_a_state<S: Ground>() {
    let mut bits = 1_u32;
    let key: String = std::iter::repeat_with(|| {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        char::from(b'!' + (bits % 94) as u8)
    })
    .take(2_600)
    .collect();
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let table = format!("accounts_{}", Uuid::now_v7().simple());
    let by = key.clone();
    let states = with_key(&table, SliceKey::by(move |_| Some(by.clone()))).unwrap();
    append(&store, [event("Paid", "a", 1)]).await;
    catch_up(&store, &log, &states).await.unwrap();
    let listed: Vec<String> = list(&store, &states).await.into_keys().collect();
    assert_eq!(listed, [key]);
    store.close().await;
}

async fn stored_state_of_another_form_is_refused<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (table, states) = states();
    append(&store, [event("Paid", "a", 1)]).await;
    catch_up(&store, &log, &states).await.unwrap();
    S::run(
        &log,
        &format!("UPDATE {table} SET state = '{{\"balance\": \"much\"}}'"),
    )
    .await;
    append(&store, [event("Paid", "a", 1)]).await;
    let failed = catch_up(&store, &log, &states).await.unwrap_err();
    assert!(failed.to_string().contains("\"a\""), "{failed}");
    assert!(failed.to_string().contains(&table), "{failed}");
    let unreadable = store.reader(&states).get("a").await;
    assert!(
        matches!(unreadable, Err(Error::Json { .. })),
        "{unreadable:?}"
    );
    let unreadable = store.reader(&states).list(None, 5).await;
    assert!(
        matches!(unreadable, Err(Error::Json { .. })),
        "{unreadable:?}"
    );
    store.close().await;
}

async fn state_that_json_cannot_tell_is_refused<S: Ground>() {
    let log = S::fresh_log().await;
    let store = S::connect(&log).await;
    let (_, states) = states();
    append(&store, [event("Paid", "a", 1), event("Rated", "a", 0)]).await;
    let failed = catch_up(&store, &log, &states).await.unwrap_err();
    assert!(failed.to_string().contains("JSON"), "{failed}");
    assert_eq!(list(&store, &states).await, BTreeMap::new());
    store.close().await;
}
