//! Reads from the time-series engine.
//!
//! - **As in the seed**: the functions behind the HTTP handler, without a socket: all points of one
//!   metric as JSON, in pieces of 64 KiB through one buffer.
//! - **On the dataset**: ranges, averages and selections through the engine's API. All data is in
//!   memory, but the processor's caches hold little of it.

use crate::points::data::{MILLION, ONE_SERIES, START_MS, STEP_MS, Shape, labels, series_text};
use crate::points::json::loaded;
use bench::{BoxError, Goal, Op, Outcome, Row, Target};
use std::cell::RefCell;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tsdb::wire::json::{Pieces, Query};
use tsdb::{Aggregate, Db, DbOptions, MatchOp, Matcher, Sample};

const MINUTE: NonZeroU64 = NonZeroU64::new(60_000).expect("not zero");

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    json_rows(target);
    range_rows(target);
    aggregate_rows(target);
    select_rows(target)
}

fn json_rows(target: &mut Target) {
    let row = |operation: &str, points: usize, table| {
        let points_text = format!(
            "all {points} points of the metric as JSON, in pieces of 64 KiB, as the server sends them"
        );
        Row::new(operation, ONE_SERIES)
            .events(points as u64)
            .one_op(points_text)
            .fills(table)
    };
    for (operation, points, table, micros, peer) in [
        ("Small Range", 100, "tsdb_query", 4, "21.6 µs"),
        ("Medium Range", 1_000, "tsdb_query", 30, "168.6 µs"),
        ("Large Range", 10_000, "tsdb_query", 300, "1.82 ms"),
        ("100k point query", 100_000, "tsdb_stress", 3_000, "25.4 ms"),
        ("1M point query", MILLION, "tsdb_stress", 35_000, "425 ms"),
        (
            "2M points in RAM",
            2 * MILLION,
            "tsdb_stress",
            70_000,
            "815 ms as published",
        ),
    ] {
        let goal = Goal::mean(Duration::from_micros(micros)).peer(peer);
        let row = row(operation, points, table).goal(goal);
        let row = if points == 1_000 {
            row.fills("tsdb_memory")
        } else {
            row
        };
        target.row(row.steady(), &query(points));
    }
    let concurrent = row("Concurrent Queries", 1_000, "tsdb_query").concurrency(2);
    target.row(concurrent.steady(), &query(1_000));
}

/// Each thread writes the answer piece by piece into a buffer that it keeps.
fn query(points: usize) -> Op {
    thread_local! {
        // Thread-local, because the callers of the concurrent row must not share a buffer.
        static PIECE: RefCell<Vec<u8>> = RefCell::new(Vec::with_capacity(Pieces::BYTES));
    }
    let end = format!(r#"],"count":{points}}}"#);
    Op::blocking(move || loaded(points)).call(move |(db, body), _| {
        PIECE.with_borrow_mut(|piece| {
            let query = Query::read(body.as_bytes())?;
            let mut pieces = query.pieces(&query.select(db));
            let mut more = true;
            while more {
                piece.clear();
                more = pieces.write_next(piece);
                black_box(&piece);
            }
            // The answer ends with the number of points, so a truncated answer fails.
            match piece.ends_with(end.as_bytes()) {
                true => Ok(Outcome::Success),
                false => Err("points are missing".into()),
            }
        })
    })
}

/// One series of a million points.
fn million() -> Result<Db, BoxError> {
    let db = Db::new(DbOptions::default());
    let samples = Shape::DecimalWalk.samples(MILLION);
    db.series(&labels(0)?)?.append_batch(&samples)?;
    Ok(db)
}

fn range_rows(target: &mut Target) {
    for (points, ns, peer) in [
        (100, 1_500, "Prometheus 15 µs, VictoriaMetrics 35 µs"),
        (10_000, 25_000, "Prometheus 751 µs, VictoriaMetrics 145 µs"),
        (
            MILLION,
            2_200_000,
            "Prometheus 77 ms, VictoriaMetrics 20 ms",
        ),
    ] {
        let row = Row::new("Range", ONE_SERIES)
            .events(points as u64)
            .on_the_dataset()
            .one_op("the latest points of a million are collected into a list that is there")
            .fills("tsdb_engine_read")
            .goal(Goal::mean(Duration::from_nanos(ns)).peer(peer));
        let setup = || {
            Ok((
                million()?,
                Mutex::new(Vec::<Sample>::with_capacity(MILLION)),
            ))
        };
        let from_ms = START_MS + (MILLION - points) as i64 * STEP_MS;
        let op = Op::blocking(setup).call(move |(db, list), _| {
            let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
            list.clear();
            let selection = db.select(&[Matcher::metric("cpu_usage")], from_ms, i64::MAX);
            selection
                .iter()
                .for_each(|series| series.collect_into(&mut list));
            if list.len() != points {
                return Err(format!("{} points were read", list.len()).into());
            }
            Ok(Outcome::Success)
        });
        target.row(row.steady(), &op);
    }
}

fn aggregate_rows(target: &mut Target) {
    let row = |operation: &str, one_op: &str| {
        Row::new(operation, ONE_SERIES)
            .events(MILLION as u64)
            .on_the_dataset()
            .one_op(one_op)
            .fills("tsdb_engine_read")
    };
    let average = row("Average by minute", "166,667 averages of six points each")
        .goal(Goal::mean(Duration::from_millis(2)).peer("VictoriaMetrics 22 ms, Prometheus 67 ms"));
    let minutes = Op::blocking(million).call(|db, _| {
        let selection = db.select(&[], i64::MIN, i64::MAX);
        for series in selection.iter() {
            black_box(series.downsample(MINUTE, Aggregate::Avg));
        }
        Ok(Outcome::Success)
    });
    target.row(average.steady(), &minutes);
    let sum = Op::blocking(million).call(|db, _| {
        let selection = db.select(&[], i64::MIN, i64::MAX);
        for series in selection.iter() {
            black_box(series.aggregate(Aggregate::Sum));
        }
        Ok(Outcome::Success)
    });
    target.row(
        row("Sum of all", "one number, from the statistics of blocks").steady(),
        &sum,
    );
}

fn select_rows(target: &mut Target) -> Result<(), BoxError> {
    let like = |pattern: &str| Matcher::new("host", MatchOp::Matches, pattern);
    #[rustfmt::skip] // A selection per line.
    let selections = [
        ("Select one", Matcher::equal("host", "host-01234"), 1, 300, "0.9 µs"),
        ("Select by job", Matcher::equal("job", "job-07"), 500, 10_000, "83 µs"),
        ("Select by a prefix regex", like("host-01.*")?, 1_000, 40_000, "299 µs"),
        ("Select by a free regex", like(".*7[0-4].*")?, 1_475, 400_000, "1.16 ms"),
    ];
    for (operation, matcher, found, ns, peer) in selections {
        let row = Row::new(operation, &series_text(10_000))
            .events(found)
            .on_the_dataset()
            .one_op("the series are found, and the labels of each looked at")
            .fills("tsdb_select")
            .goal(Goal::mean(Duration::from_nanos(ns)).peer(format!("Prometheus {peer}")));
        let setup = || {
            let db = Db::new(DbOptions::default());
            for number in 0..10_000 {
                db.append(&labels(number)?, Sample::new(START_MS, 1.0))?;
            }
            Ok(db)
        };
        let matchers = [Matcher::metric("cpu_usage"), matcher];
        let op = Op::blocking(setup).call(move |db, _| {
            let selection = db.select(black_box(&matchers), i64::MIN, i64::MAX);
            for series in selection.iter() {
                black_box(series.labels().is_empty());
            }
            match selection.len() as u64 == found {
                true => Ok(Outcome::Success),
                false => Err(format!("{} series were found", selection.len()).into()),
            }
        });
        target.row(row.steady(), &op);
    }
    Ok(())
}
