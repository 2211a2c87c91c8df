//! The price of a read that wants little.

use dcb_core::postgres::PostgresStore;
use dcb_core::{EventStore as _, Position, Query, ReadOptions};

use crate::million::{COLD_AND_HOT, EVENTS, HOT, Million, TYPE};
use crate::support::events::at;

/// How many events each read wants.
const LIMIT: u64 = 10;

/// For each event it may look at those of three types, of each at the row and its entry in both
/// tables, and once at the head.
const ROWS_PER_EVENT: i64 = 14;

/// To find the rarest of two tags it looks at up to 256 rows and entries of each.
const ROWS_TO_CHOOSE: i64 = 1100;

/// Each read is repeated, past the executions that have plans of their own.
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

/// From the start, the middle and the end, in both directions.
fn sides() -> [(&'static str, ReadOptions); 4] {
    let limited = ReadOptions::new().limit(LIMIT);
    let middle = at(EVENTS / 2);
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

/// The limited reads that read too much.
async fn excessive(million: &Million) -> Vec<String> {
    let mut excessive = Vec::new();
    for (name, query) in queries() {
        for (side, options) in sides() {
            let cost = million.cost(async |store| {
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
async fn a_limited_read_reads_no_more_than_it_wants() {
    let million = Million::get().await;
    million.forget_statistics().await;
    let mut excessive_reads = excessive(&million).await;
    million.analyze().await;
    excessive_reads.extend(excessive(&million).await);
    assert!(excessive_reads.is_empty(), "{excessive_reads:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn paging_reads_each_event_once() {
    const PAGES: i64 = 20;
    const PAGE: u64 = 100;
    let million = Million::get().await;
    for (name, query) in queries() {
        if name == PAIR {
            continue; // It has less than a page.
        }
        let cost = million.cost(async |store| {
            let mut after = None;
            for _ in 0..PAGES {
                let options = ReadOptions::new().limit(PAGE).after(after);
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
async fn whether_there_is_any_costs_no_more_for_many() {
    let million = Million::get().await;
    for (name, query) in queries() {
        let cost = million.cost(async |store| {
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
async fn a_stream_that_is_dropped_reads_a_page_at_most() {
    let million = Million::get().await;
    for (name, query) in queries() {
        let cost = million.cost(async |store| {
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
