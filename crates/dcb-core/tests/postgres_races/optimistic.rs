//! A writer that nobody disturbed for a while appends without asking first where the log ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dcb_core::conformance::effort;
use dcb_core::postgres::{Config, PostgresStore};
use dcb_core::{
    Append, AppendCondition, Error, Event, EventStore as _, Position, Query, ReadOptions,
};
use sqlx::{Connection as _, PgConnection};
use tokio::time::sleep;

use crate::support::events::{at, event, head, read, tag, tagged, unless};
use crate::support::sql::Sql;
use crate::support::{connect, fresh_log};

/// More appends than it takes to count as undisturbed.
const A_WHILE: u64 = 20;

/// Leaves the store as the writer that appended last, for a while.
async fn alone(store: &PostgresStore) {
    for _ in 0..A_WHILE {
        store.append(tagged("own")).await.unwrap();
    }
}

/// Whether the last batch of the log was appended without asking where the log ends.
async fn was_optimistic(log: &Config, sql: &mut Sql) -> bool {
    // How they begin: the server shows no more of a long statement.
    let (insert, ask) = (
        format!("pg_try_advisory_xact_lock(%\"{}\".event", log.schema),
        format!("FROM \"{}\".append(", log.schema),
    );
    let last = format!(
        "SELECT (query LIKE '%{insert}%')::int FROM pg_stat_activity \
          WHERE pid <> pg_backend_pid() AND (query LIKE '%{insert}%' OR query LIKE '%{ask}%') \
          ORDER BY query_start DESC LIMIT 1"
    );
    sql.number(&last).await == 1
}

/// Appends unless the tag is met after a position; where it was met, if it was.
async fn conflict(store: &PostgresStore, tag: &str, after: u64) -> Option<u64> {
    refused(store, unless(tag).after(Position::new(after))).await
}

async fn refused(store: &PostgresStore, condition: AppendCondition) -> Option<u64> {
    match store.append_if(tagged("decided"), condition).await {
        Ok(_) => None,
        Err(Error::Conflict { position }) => Some(position.get()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_undisturbed_writer_does_not_ask() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let store = connect(&log).await;
    store.append(tagged("own")).await.unwrap();
    assert!(!was_optimistic(&log, &mut sql).await);
    alone(&store).await;
    assert!(was_optimistic(&log, &mut sql).await);
    assert_eq!(conflict(&store, "never", 0).await, None);
    assert!(was_optimistic(&log, &mut sql).await);

    let other = connect(&log).await;
    let seen = other.append(tagged("other")).await.unwrap().last();
    other.close().await;
    let next = store.append(tagged("own")).await.unwrap().first();
    assert_eq!(next.get(), seen.get() + 1);
    assert!(!was_optimistic(&log, &mut sql).await);
    alone(&store).await;
    assert!(was_optimistic(&log, &mut sql).await);

    assert_eq!(
        conflict(&store, "other", 0).await,
        Some(seen.get()),
        "in vain"
    );
    assert!(!was_optimistic(&log, &mut sql).await);
    assert_eq!(head(&store).await, seen.get() + 1 + A_WHILE);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_appended_is_seen() {
    let log = fresh_log().await;
    let (own, other) = (connect(&log).await, connect(&log).await);
    for round in 0..4 {
        alone(&own).await;
        let read = head(&own).await;
        let theirs = [format!("{round}:a"), format!("{round}:b")];
        let events = theirs.iter().map(|tag| tagged(tag));
        let seen = other.append(events.collect::<Vec<_>>()).await.unwrap();
        let met = conflict(&own, &theirs[round % 2], read).await;
        assert_eq!(met, Some(seen.first().get() + round as u64 % 2));
        alone(&own).await;
        let seen = other.append(tagged("other")).await.unwrap().last();
        let own = own.append(tagged("own")).await.unwrap();
        assert_eq!(own.first().get(), seen.get() + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_long_before_is_found() {
    let log = fresh_log().await;
    let before = connect(&log).await;
    before
        .append([event("Old", &["a", "b"]), event("Old", &["a"])])
        .await
        .unwrap();
    before.close().await;
    let own = connect(&log).await;
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
        alone(&own).await;
        assert_eq!(refused(&own, condition.clone()).await, expected);
        // And once more, by a writer that asks.
        assert_eq!(refused(&own, condition).await, expected);
    }
    for beyond in [unless("a"), query(&["Old"], &["a"])] {
        alone(&own).await;
        let refused = own
            .append_if(tagged("late"), beyond.after(at(10_000)))
            .await;
        assert!(
            matches!(refused, Err(Error::AfterBeyondHead { .. })),
            "{refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_alternatives_the_one_that_is_open_is_looked_for() {
    let log = fresh_log().await;
    let own = connect(&log).await;
    alone(&own).await;
    let read = head(&own).await;
    let met = own.append(tagged("met")).await.unwrap().last();
    for types in [["Absent", "Happened"], ["Happened", "Never"]] {
        let query = Query::builder().event_types(types).tag("met").build();
        let condition = AppendCondition::fail_if(query.unwrap());
        alone(&own).await;
        let seen = refused(&own, condition.clone().after(at(read))).await;
        assert_eq!(seen, Some(met.get()));
        assert_eq!(refused(&own, condition.after(met)).await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_without_tags_is_appended_once() {
    let log = fresh_log().await;
    let mut sql = Sql::connect(&log.url).await;
    let own = connect(&log).await;
    alone(&own).await;
    for position in A_WHILE + 1..A_WHILE + 4 {
        let appended = own.append(event("Bare", &[])).await.unwrap();
        assert!(was_optimistic(&log, &mut sql).await);
        assert_eq!(appended.last().get(), position);
    }
    assert_eq!(head(&own).await, A_WHILE + 3);
}

/// A condition on two tags asks for an event with both, of whichever tag few events carry.
#[tokio::test(flavor = "multi_thread")]
async fn an_event_with_two_tags_is_found_among_many_with_one() {
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

    let own = connect(&log).await;
    let old: &[&str] = &["Old"];
    // What is not met is appended without asking.
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
        alone(&own).await;
        let query = Query::builder().event_types(types.iter().copied());
        let query = query.tags(tags.iter().copied()).build().unwrap();
        let condition = AppendCondition::fail_if(query).after(Position::new(after));
        assert_eq!(
            refused(&own, condition).await,
            expected,
            "{types:?} {tags:?}"
        );
        assert_eq!(
            was_optimistic(&log, &mut sql).await,
            expected.is_none(),
            "{types:?} {tags:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_transaction_is_waited_for() {
    let log = fresh_log().await;
    let own = connect(&log).await;
    let mut session = PgConnection::connect(&log.url).await.unwrap();
    for commits in [true, false] {
        alone(&own).await;
        let before = head(&own).await;
        let mut transaction = session.begin().await.unwrap();
        let append = Append::new(tagged("theirs"));
        own.submit_in(&mut transaction, append).await.unwrap();
        let condition = unless("theirs").after(at(before));
        let late = tokio::spawn({
            let own = own.clone();
            async move { own.append_if(tagged("late"), condition).await }
        });
        sleep(Duration::from_millis(100)).await;
        assert!(!late.is_finished());
        if commits {
            transaction.commit().await.unwrap();
            let refused = late.await.unwrap();
            let expected = at(before + 1);
            assert!(
                matches!(refused, Err(Error::Conflict { position }) if position == expected),
                "{refused:?}"
            );
        } else {
            transaction.rollback().await.unwrap();
            assert_eq!(late.await.unwrap().unwrap().first(), at(before + 1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_was_emptied_is_another_log() {
    let log = fresh_log().await;
    let (own, other) = (connect(&log).await, connect(&log).await);
    let mut sql = Sql::connect(&log.url).await;
    let tables = ["event", "event_tag"].map(|table| format!("{}.{table}", log.schema));
    let truncate = format!("TRUNCATE {}", tables.join(", "));

    alone(&own).await;
    sql.run(&truncate).await;
    let first = own.append(tagged("own")).await.unwrap().first();
    assert_eq!(first, Position::FIRST);

    // As long as before, but by others.
    alone(&own).await;
    let (before, length) = (A_WHILE / 2, head(&own).await);
    sql.run(&truncate).await;
    let theirs: Vec<Event> = (0..length).map(|_| tagged("theirs")).collect();
    other.append(theirs).await.unwrap();
    assert_eq!(
        conflict(&own, "theirs", before).await,
        Some(before + 1),
        "it has as many events as the one that the writer knows"
    );

    alone(&own).await;
    other.clear().await.unwrap();
    let first = own.append(tagged("own")).await.unwrap().first();
    assert_eq!(first, Position::FIRST);
}

/// Appends links of a chain: each under the condition that the last link it knows is the last, and
/// with that link's position as its data. Returns how many it appended.
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
        match store.append_if(link, unless("chain").after(last)).await {
            Ok(own) => {
                last = Some(own.last());
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
async fn a_process_that_comes_in_now_and_then_breaks_no_chain() {
    let log = fresh_log().await;
    let (busy, rare) = (connect(&log).await, connect(&log).await);
    let done = Arc::new(AtomicBool::new(false));
    let pause = Some(Duration::from_millis(5));
    let rare = tokio::spawn(links(rare, pause, usize::MAX, Arc::clone(&done)));
    let busy = tokio::spawn(links(busy, None, 150 * effort(20), done));
    let (busy, rare) = (busy.await.unwrap(), rare.await.unwrap());
    println!("{busy} links by the busy process, {rare} by the other");
    let chain = read(&connect(&log).await, &tag("chain")).await;
    assert_eq!(chain.len(), busy + rare);
    let mut before = 0;
    for link in &chain {
        let known: u64 = std::str::from_utf8(link.data()).unwrap().parse().unwrap();
        assert_eq!(known, before, "the link at {}", link.position());
        before = link.position().get();
    }
}
