//! Optimistic appends: after a while without contention, a writer inserts without first reading the
//! head of the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use conformance_suite::effort;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Append, AppendCondition, Bookmark, Error, Event, EventStore as _, Position, Query, ReadOptions,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::sleep;

use crate::support::events::{at, event, head, read, tag, tagged, unless};
use crate::support::postgres::last_append::last_append;
use crate::support::postgres::sql::Sql;
use crate::support::postgres::{connect, fresh_log};

/// More appends than a writer needs to count as uncontended.
const UNCONTENDED_APPENDS: u64 = 20;

/// Appends until the store counts as uncontended.
async fn make_uncontended(store: &PostgresStore) {
    for _ in 0..UNCONTENDED_APPENDS {
        store.append(tagged("own")).await.unwrap();
    }
}

/// Whether the last append to the log was optimistic.
async fn was_optimistic(log: &Config, sql: &mut Sql) -> bool {
    last_append(log, sql).await.is_optimistic()
}

/// Appends unless an event after the position has the tag. Returns the position of a conflict.
async fn conflict(store: &PostgresStore, tag: &str, after: u64) -> Option<u64> {
    refused(
        store,
        unless(tag).after(Position::new(after).map(Bookmark::from)),
    )
    .await
}

async fn refused(store: &PostgresStore, condition: AppendCondition) -> Option<u64> {
    match store.append_if(tagged("decided"), condition).await {
        Ok(_) => None,
        Err(Error::Conflict { position, .. }) => Some(position.get()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_uncontended_writer_appends_optimistically() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let store = connect(&log).await;
    store.append(tagged("own")).await.unwrap();
    assert!(!was_optimistic(&log, &mut sql).await);
    make_uncontended(&store).await;
    assert!(was_optimistic(&log, &mut sql).await);
    assert_eq!(conflict(&store, "never", 0).await, None);
    assert!(was_optimistic(&log, &mut sql).await);

    let other = connect(&log).await;
    let seen = other.append(tagged("other")).await.unwrap().last();
    other.close().await;
    let next = store.append(tagged("own")).await.unwrap().first();
    assert_eq!(next.get(), seen.get() + 1);
    assert!(!was_optimistic(&log, &mut sql).await);
    make_uncontended(&store).await;
    assert!(was_optimistic(&log, &mut sql).await);

    assert_eq!(
        conflict(&store, "other", 0).await,
        Some(seen.get()),
        "the optimistic append must fall back"
    );
    assert!(!was_optimistic(&log, &mut sql).await);
    assert_eq!(head(&store).await, seen.get() + 1 + UNCONTENDED_APPENDS);
}

#[tokio::test(flavor = "multi_thread")]
async fn optimistic_append_sees_events_of_another_process() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    for round in 0..4 {
        make_uncontended(&store).await;
        let read = head(&store).await;
        let theirs = [format!("{round}:a"), format!("{round}:b")];
        let events = theirs.iter().map(|tag| tagged(tag));
        let seen = other.append(events.collect::<Vec<_>>()).await.unwrap();
        let met = conflict(&store, &theirs[round % 2], read).await;
        assert_eq!(met, Some(seen.first().get() + round as u64 % 2));
        make_uncontended(&store).await;
        let seen = other.append(tagged("other")).await.unwrap().last();
        let appended = store.append(tagged("own")).await.unwrap();
        assert_eq!(appended.first().get(), seen.get() + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn optimistic_append_finds_old_conflicts() {
    let log = fresh_log().await;
    let before = connect(&log).await;
    before
        .append([event("Old", &["a", "b"]), event("Old", &["a"])])
        .await
        .unwrap();
    before.close().await;
    let store = connect(&log).await;
    let query = |types: &[&str], tags: &[&str]| {
        let query = Query::builder().event_types(types.iter().copied());
        let query = query.tags(tags.iter().copied()).build();
        AppendCondition::fail_if(query.unwrap())
    };
    let cases = [
        (query(&["Old"], &["a"]), Some(1)),
        (query(&[], &["a"]), Some(1)),
        (query(&["Old"], &["b", "a"]), Some(1)),
        (query(&["Old"], &["a"]).after(at(1)), Some(2)),
        (query(&["Old"], &["b"]).after(at(1)), None),
        (query(&["Other"], &["a"]), None),
        (query(&["Never", "Old"], &["a"]), Some(1)),
        (query(&["Old", "Never"], &["a"]), Some(1)),
        (query(&["Never", "Other"], &["a"]), None),
        (query(&["Old"], &["never"]), None),
        (query(&[], &["a", "never"]), None),
        (query(&["Old"], &[]), Some(1)),
        (query(&["Never"], &[]), None),
        (AppendCondition::fail_if(Query::all()), Some(1)),
    ];
    for (condition, expected) in cases {
        make_uncontended(&store).await;
        assert_eq!(refused(&store, condition.clone()).await, expected);
        // The conflict ended the uncontended state, so this append reads the head first.
        assert_eq!(refused(&store, condition).await, expected);
    }
    for beyond in [unless("a"), query(&["Old"], &["a"])] {
        make_uncontended(&store).await;
        let refused = store
            .append_if(tagged("late"), beyond.after(at(10_000)))
            .await;
        assert!(
            matches!(refused, Err(Error::AfterBeyondHead { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn undecided_alternative_of_a_condition_is_checked() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    make_uncontended(&store).await;
    let read = head(&store).await;
    let met = store.append(tagged("met")).await.unwrap().last();
    for types in [["Absent", "Happened"], ["Happened", "Never"]] {
        let query = Query::builder().event_types(types).tag("met").build();
        let condition = AppendCondition::fail_if(query.unwrap());
        make_uncontended(&store).await;
        let seen = refused(&store, condition.clone().after(at(read))).await;
        assert_eq!(seen, Some(met.get()));
        assert_eq!(refused(&store, condition.after(met)).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn optimistic_append_of_an_event_without_tags_is_stored_once() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let store = connect(&log).await;
    make_uncontended(&store).await;
    for position in UNCONTENDED_APPENDS + 1..UNCONTENDED_APPENDS + 4 {
        let appended = store.append(event("Bare", &[])).await.unwrap();
        assert!(was_optimistic(&log, &mut sql).await);
        assert_eq!(appended.last().get(), position);
    }
    assert_eq!(head(&store).await, UNCONTENDED_APPENDS + 3);
}

/// A condition on two tags matches only events with both, whichever of the two tags is rare.
#[tokio::test(flavor = "multi_thread")]
async fn condition_on_two_tags_finds_the_event_with_both() {
    const MANY: usize = 30;
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let before = connect(&log).await;
    let many = ["m", "n"]
        .map(|tag| vec![event("Old", &[tag]); MANY])
        .concat();
    let both = 1 + before.append(many).await.unwrap().last().get();
    let few = [
        event("Old", &["m", "n"]),
        event("Old", &["few", "x-few"]),
        event("Old", &["few", "m", "x-few"]),
        event("Other", &["few", "n", "x-few"]),
    ];
    before.append(few).await.unwrap();
    before.close().await;

    let store = connect(&log).await;
    let old: &[&str] = &["Old"];
    // Both tags occur after position 0. After `both + 2`, neither of them does.
    let cases: [(_, &[&str], _, _); 13] = [
        (old, &["m", "n"], 0, Some(both)),
        (&[], &["m", "n"], 0, Some(both)),
        (old, &["few", "m"], 0, Some(both + 2)),
        (old, &["m", "x-few"], 0, Some(both + 2)),
        (&[], &["few", "m"], 0, Some(both + 2)),
        (&[], &["m", "x-few"], 0, Some(both + 2)),
        (old, &["few", "m"], both + 2, None),
        (old, &["m", "x-few"], both + 2, None),
        (old, &["few", "n"], 0, None),
        (old, &["n", "x-few"], 0, None),
        (&[], &["few", "n"], 0, Some(both + 3)),
        (&[], &["n", "x-few"], 0, Some(both + 3)),
        (old, &["few", "m", "x-few"], both + 2, None),
    ];
    for (types, tags, after, expected) in cases {
        make_uncontended(&store).await;
        let query = Query::builder().event_types(types.iter().copied());
        let query = query.tags(tags.iter().copied()).build().unwrap();
        let condition =
            AppendCondition::fail_if(query).after(Position::new(after).map(Bookmark::from));
        assert_eq!(
            refused(&store, condition).await,
            expected,
            "{types:?} {tags:?}"
        );
        assert_eq!(
            was_optimistic(&log, &mut sql).await,
            after > 0,
            "{types:?} {tags:?}"
        );
    }
}

/// Of two tags one is looked up. If it occurs, the append needs `dcb.append`, although no other session
/// interfered.
#[tokio::test(flavor = "multi_thread")]
async fn lookup_that_settles_nothing_is_no_contention() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let before = connect(&log).await;
    before
        .append([event("Old", &["a"]), event("Old", &["b"])])
        .await
        .unwrap();
    before.close().await;
    let store = connect(&log).await;
    let unless_both = |tags: [&str; 2]| {
        let query = Query::builder().event_type("Old").tags(tags).build();
        AppendCondition::fail_if(query.unwrap())
    };
    make_uncontended(&store).await;
    for _ in 0..2 {
        assert_eq!(refused(&store, unless_both(["a", "b"])).await, None);
        assert!(!was_optimistic(&log, &mut sql).await);
        assert_eq!(conflict(&store, "never", 0).await, None);
        assert!(was_optimistic(&log, &mut sql).await);
    }
    make_uncontended(&store).await;
    assert_eq!(refused(&store, unless_both(["a", "never"])).await, None);
    assert_eq!(refused(&store, unless_both(["b", "never"])).await, None);
    assert!(was_optimistic(&log, &mut sql).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn optimistic_append_waits_for_an_open_transaction() {
    let log = fresh_log().await;
    let store = connect(&log).await;
    let mut session = PgConnection::connect(&log.url).await.unwrap();
    for commits in [true, false] {
        make_uncontended(&store).await;
        let before = head(&store).await;
        let mut transaction = session.begin().await.unwrap();
        let append = Append::new(tagged("theirs"));
        store.submit_in(&mut transaction, append).await.unwrap();
        let condition = unless("theirs").after(at(before));
        let late = tokio::spawn({
            let store = store.clone();
            async move { store.append_if(tagged("late"), condition).await }
        });
        sleep(Duration::from_millis(100)).await;
        assert!(!late.is_finished());
        if commits {
            transaction.commit().await.unwrap();
            let refused = late.await.unwrap();
            let expected = at(before + 1);
            assert!(
                matches!(refused, Err(Error::Conflict { position, .. }) if position == expected),
                "{refused:?}"
            );
        } else {
            transaction.rollback().await.unwrap();
            assert_eq!(late.await.unwrap().unwrap().first(), at(before + 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn emptied_log_is_detected() {
    let log = fresh_log().await;
    let (store, other) = (connect(&log).await, connect(&log).await);
    let mut sql = Sql::connect(&log.url).await;
    let tables = ["event", "event_tag"].map(|table| format!("{}.{table}", log.schema));
    let truncate = format!("TRUNCATE {}", tables.join(", "));

    make_uncontended(&store).await;
    sql.run(&truncate).await;
    let first = store.append(tagged("own")).await.unwrap().first();
    assert_eq!(first, Position::FIRST);

    // Another store fills the log up to the same head.
    make_uncontended(&store).await;
    let (before, length) = (UNCONTENDED_APPENDS / 2, head(&store).await);
    sql.run(&truncate).await;
    let theirs: Vec<Event> = (0..length).map(|_| tagged("theirs")).collect();
    other.append(theirs).await.unwrap();
    assert_eq!(
        conflict(&store, "theirs", before).await,
        Some(before + 1),
        "the new log has the head that the writer remembers"
    );

    make_uncontended(&store).await;
    other.clear().await.unwrap();
    let first = store.append(tagged("own")).await.unwrap().first();
    assert_eq!(first, Position::FIRST);
}

/// Appends links to a chain. A link is appended only if no other caller has appended one since the
/// last link that this caller knows. Its data is the position of that last link. Returns the number
/// of appended links.
async fn links(
    store: PostgresStore,
    pause: Option<Duration>,
    count: usize,
    done: Arc<AtomicBool>,
) -> usize {
    let (mut last, mut appended) = (None::<Position>, 0);
    for _ in 0..count {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let known = Position::number_or_zero(last);
        let link = Event::builder("Link").tag("chain");
        let link = link.data(known.to_string()).build().unwrap();
        match store
            .append_if(link, unless("chain").after(last.map(Bookmark::from)))
            .await
        {
            Ok(appended_link) => {
                last = Some(appended_link.last());
                appended += 1;
                if let Some(pause) = pause {
                    sleep(pause).await;
                }
            }
            Err(Error::Conflict { .. }) => {
                let newest = ReadOptions::new().backwards().limit(1);
                let found = store.query(&tag("chain"), newest).await.unwrap();
                last = found.events.first().map(|link| link.position());
            }
            Err(error) => panic!("{error}"),
        }
    }
    done.store(true, Ordering::Relaxed);
    appended
}

#[tokio::test(flavor = "multi_thread")]
async fn occasional_writer_breaks_no_chain_of_conditions() {
    let log = fresh_log().await;
    let (busy, rare) = (connect(&log).await, connect(&log).await);
    let done = Arc::new(AtomicBool::new(false));
    let pause = Some(Duration::from_millis(5));
    let rare = tokio::spawn(links(rare, pause, usize::MAX, Arc::clone(&done)));
    let busy = tokio::spawn(links(busy, None, 150 * effort(20), done));
    let (busy, rare) = (busy.await.unwrap(), rare.await.unwrap());
    println!("{busy} links by the busy writer, {rare} by the occasional writer");
    let chain = read(&connect(&log).await, &tag("chain")).await;
    assert_eq!(chain.len(), busy + rare);
    let mut before = 0;
    for link in &chain {
        let known: u64 = std::str::from_utf8(link.data()).unwrap().parse().unwrap();
        assert_eq!(known, before, "link at {}", link.position());
        before = link.position().get();
    }
}
