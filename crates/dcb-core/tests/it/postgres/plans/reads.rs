//! The cost of reads that return few events.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Bookmark, EventStore as _, Position, Projector, Query, ReadOptions};

use super::large_log::{COLD, COLD_AND_HOT, HOT, LargeLog, TYPE, event_count};
use crate::support::events::at;

/// The limit of each read.
const LIMIT: u64 = 10;

/// The rows and index entries that a read may visit per returned event. For each event of the right
/// type it may find two of other types. Each of the three costs its row and its entries in both
/// tables. The rest is for the head.
const ROWS_PER_EVENT: i64 = 14;

/// The rows that a read may visit to find the rarer of two tags: up to 256 rows and entries of each.
const ROWS_TO_CHOOSE: i64 = 1100;

/// PostgreSQL makes custom plans for the first executions of a statement. Later executions use the
/// generic plan, which the tests are about.
const REPEATS: i64 = 10;

const PAIR: &str = "hot and cold";

fn query(types: &[&str], tags: &[&str]) -> Query {
    let query = Query::builder()
        .event_types(types.iter().copied())
        .tags(tags.iter().copied());
    query.build().expect("the query is valid")
}

fn queries() -> Vec<(&'static str, Query)> {
    vec![
        ("all", Query::all()),
        ("type", query(&[TYPE], &[])),
        ("hot tag", query(&[TYPE], &[HOT])),
        ("hot tag, no type", query(&[], &[HOT])),
        ("hot tag, two types", query(&["Type0", TYPE], &[HOT])),
        (PAIR, query(&[], &[HOT, COLD_AND_HOT])),
        (
            "two items",
            query(&[TYPE], &[HOT]).or(query(&["Type2"], &[])),
        ),
    ]
}

fn to_choose(name: &str) -> i64 {
    if name == PAIR { ROWS_TO_CHOOSE } else { 0 }
}

async fn read(store: &PostgresStore, query: &Query, options: ReadOptions) -> Option<Position> {
    let page = store.query(query, options).await.unwrap();
    assert!(!page.events.is_empty(), "{query:?} {options:?}");
    page.events.last().map(|event| event.position())
}

/// Reads from the start, the middle and the end of the log.
fn directions() -> [(&'static str, ReadOptions); 4] {
    let limited = ReadOptions::new().limit(LIMIT);
    let middle = at(event_count() / 2);
    [
        ("from the start", limited),
        ("from the middle", limited.after(middle)),
        ("from the head, backwards", limited.backwards()),
        (
            "from the middle, backwards",
            limited.after(middle).backwards(),
        ),
    ]
}

/// The limited reads that visit too many rows.
async fn excessive(log: &LargeLog) -> Vec<String> {
    let mut excessive = Vec::new();
    for (name, query) in queries() {
        for (side, options) in directions() {
            let cost = log.cost(async |store| {
                for _ in 0..REPEATS {
                    read(store, &query, options).await;
                }
            });
            let rows = cost.await.rows / REPEATS;
            println!("{name}, {side}: {rows} rows");
            if rows > ROWS_PER_EVENT * LIMIT as i64 + to_choose(name) {
                excessive.push(format!("{name}, {side}: {rows} rows"));
            }
        }
    }
    excessive
}

#[tokio::test(flavor = "multi_thread")]
async fn limited_read_visits_few_rows() {
    let log = LargeLog::get().await;
    log.forget_statistics().await;
    let mut excessive_reads = excessive(&log).await;
    log.analyze().await;
    excessive_reads.extend(excessive(&log).await);
    assert!(excessive_reads.is_empty(), "{excessive_reads:#?}");
}

/// The projection costs one event, alone and beside a projection of a few events.
#[tokio::test(flavor = "multi_thread")]
async fn projection_of_the_last_event_visits_few_rows() {
    const FEW: i64 = 10;
    // A first event needs the start of each type's entries.
    const ROWS: i64 = 2 * ROWS_PER_EVENT;
    let log = LargeLog::get().await;
    let last = |query: &Query| {
        let position = Projector::new(query.clone(), 0, |last, event| {
            *last = event.position().get();
        });
        position.last_only()
    };
    let beside = || Projector::counter(query(&[], &[COLD]));
    for analyzed in [false, true] {
        if analyzed {
            log.analyze().await;
        } else {
            log.forget_statistics().await;
        }
        for (name, query) in queries() {
            let alone = log.cost(async |store| {
                for _ in 0..REPEATS {
                    let state = store.project(&last(&query)).await.unwrap().state;
                    assert!(
                        state > event_count() - 1000 || name == PAIR,
                        "{name}: {state}"
                    );
                }
            });
            let alone = alone.await.rows / REPEATS;
            let both = log.cost(async |store| {
                for _ in 0..REPEATS {
                    let projection = (last(&query), beside());
                    let state = store.project(&projection).await.unwrap().state;
                    assert_eq!(state.1, FEW as u64);
                }
            });
            let both = both.await.rows / REPEATS;
            println!("{name}: {alone} rows, beside {FEW} events {both} rows");
            let most = ROWS + to_choose(name);
            assert!(alone <= most, "{name}: {alone} rows");
            assert!(both <= most + ROWS_PER_EVENT * FEW, "{name}: {both} rows");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_reads_each_event_once() {
    const PAGES: i64 = 20;
    const PAGE: u64 = 100;
    let log = LargeLog::get().await;
    for (name, query) in queries() {
        if name == PAIR {
            continue; // Fewer matches than one page.
        }
        let cost = log.cost(async |store| {
            let mut after = None;
            for _ in 0..PAGES {
                let options = ReadOptions::new()
                    .limit(PAGE)
                    .after(after.map(Bookmark::from));
                after = read(store, &query, options).await;
            }
        });
        let rows = cost.await.rows;
        println!("{name}: {rows} rows");
        assert!(
            rows <= ROWS_PER_EVENT * PAGES * PAGE as i64,
            "{name}: {rows} rows"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exists_costs_no_more_for_many_matches() {
    let log = LargeLog::get().await;
    for (name, query) in queries() {
        let cost = log.cost(async |store| {
            for _ in 0..REPEATS {
                assert!(store.exists(&query).await.unwrap());
            }
        });
        let rows = cost.await.rows / REPEATS;
        println!("{name}: {rows} rows");
        assert!(rows <= 64, "{name}: {rows} rows");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_stream_reads_at_most_one_page() {
    let log = LargeLog::get().await;
    for (name, query) in queries() {
        let cost = log.cost(async |store| {
            let mut stream = store
                .query_stream(&query, ReadOptions::new())
                .await
                .unwrap();
            stream.next().await.unwrap().unwrap();
        });
        let rows = cost.await.rows;
        println!("{name}: {rows} rows");
        assert!(
            rows <= ROWS_PER_EVENT * 256 + to_choose(name),
            "{name}: {rows} rows"
        );
    }
}
