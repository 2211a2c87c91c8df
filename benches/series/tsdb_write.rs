//! Writes to the time-series engine.
//!
//! - **As in the seed**: the function behind the HTTP handler, without a socket. Every request has
//!   the same timestamps of the same series, so the engine keeps duplicates. The engine is replaced
//!   before it holds more than a million points.
//! - **On the dataset**: distinct timestamps, through JSON and through the API; one to 10,000
//!   series; with a log. One op of the engine's rows is a thousand samples, because the clock is
//!   too coarse for a single sample.
//!
//! Everything is in memory except in the rows with a log. Rows that wait for fsync measure the
//! disk.

use crate::points::data::{MILLION, ONE_SERIES, START_MS, Shape, labels, series_text};
use crate::points::engine::{Load, PERIODIC, WRITE_THROUGH, Way};
use crate::points::json::{accepted, batch, keep_all, single};
use bench::{BoxError, Facts, Floor, Goal, Op, Outcome, Row, Target};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use tsdb::wire::{json, remote_write};
use tsdb::{Db, DbOptions, Durability, Labels, OpenOptions, Sample};

pub(crate) fn declare(target: &mut Target) -> Result<(), BoxError> {
    seed_rows(target);
    distinct_rows(target);
    engine_rows(target);
    log_rows(target);
    memory_rows(target);
    remote_write_row(target);
    Ok(())
}

fn seed_rows(target: &mut Target) {
    let row = |operation: &str, points: usize, table| {
        let one_op = format!("a request with {points} points, the same in every op");
        Row::new(operation, ONE_SERIES)
            .steady()
            .events(points as u64)
            .one_op(one_op)
            .fills(table)
    };
    let goal = |ns, peer| Goal::mean(Duration::from_nanos(ns)).peer(peer);
    let single_write = row("Single Write", 1, "tsdb_write")
        .fills("tsdb_memory")
        .goal(goal(1_500, "its Go handler here 9.75 µs, 54 allocations"));
    target.row(single_write, &resend(single(START_MS), 1));
    for (operation, points, ns, peer) in [
        ("Batch 10", 10, 3_000, "22.2 µs"),
        ("Batch 100", 100, 20_000, "149 µs"),
        ("Batch 1000", 1_000, 180_000, "1,391 µs"),
        ("Batch 100k", 100_000, 18_000_000, "138.5 ms"),
    ] {
        let table = if points > 1_000 {
            "tsdb_stress"
        } else {
            "tsdb_write"
        };
        let row = row(operation, points, table).goal(goal(ns, peer));
        let row = if points == 100 {
            row.fills("tsdb_memory")
        } else {
            row
        };
        target.row(row, &resend(batch(points, START_MS), points));
    }
    let concurrent = row("Concurrent Writes", 1, "tsdb_write").fills("tsdb_memory");
    target.row(concurrent.concurrency(2), &resend(single(START_MS), 2));
    let many = row("Concurrent Writes 1000x", 1, "tsdb_stress").concurrency(1_000);
    target.row(many, &resend(single(START_MS), 1_000));
}

/// The same request in every op, to an engine that is replaced after a million points.
fn resend(body: String, points: usize) -> Op {
    let every = (MILLION / points).max(1) as u64;
    // Writes take the lock for reading. Only replacing the engine takes it for writing.
    Op::blocking(move || Ok((body.clone(), RwLock::new(keep_all())))).call(
        move |(body, db), call| {
            // One of the workers replaces the engine; the write lock keeps the others out.
            if call.worker == 0 && (call.op + 1).is_multiple_of(every) {
                *db.write().unwrap_or_else(PoisonError::into_inner) = keep_all();
            }
            let db = db.read().unwrap_or_else(PoisonError::into_inner);
            accepted(&json::write(&db, body.as_bytes()))?;
            Ok(Outcome::Success)
        },
    )
}

fn distinct_rows(target: &mut Target) {
    for (operation, points) in [
        ("Single Write", 1),
        ("Batch 10", 10),
        ("Batch 100", 100),
        ("Batch 1000", 1_000),
        ("Batch 100k", 100_000),
    ] {
        let table = if points > 1_000 {
            "tsdb_stress"
        } else {
            "tsdb_write"
        };
        let row = Row::new(operation, ONE_SERIES)
            .steady()
            .events(points as u64)
            .on_the_dataset()
            .fills(table)
            .one_op(format!(
                "a request with {points} points that were not sent before"
            ));
        target.row(row, &send_new(points));
    }
}

/// Sends prepared requests. An engine gets each of them once.
fn send_new(points: usize) -> Op {
    // Requests for a million points. The limit bounds the memory that their JSON takes.
    let requests = (MILLION / points).clamp(1, 10_000);
    let setup = move || {
        let first = |index: usize| START_MS + (index * points) as i64;
        let body = |index| match points {
            1 => single(first(index)),
            _ => batch(points, first(index)),
        };
        let bodies: Vec<String> = (0..requests).map(body).collect();
        Ok((bodies, RwLock::new(keep_all())))
    };
    Op::blocking(setup).call(move |(bodies, db), call| {
        let index = call.op as usize % bodies.len();
        if index == 0 {
            *db.write().unwrap_or_else(PoisonError::into_inner) = keep_all();
        }
        let db = db.read().unwrap_or_else(PoisonError::into_inner);
        accepted(&json::write(&db, bodies[index].as_bytes()))?;
        Ok(Outcome::Success)
    })
}

/// Adds a goal for the time of an op, computed from the time per point.
fn goal(row: Row, load: Load, ns_a_point: u64, peer: &str) -> Row {
    let points = load.points as u64;
    row.goal(Goal::mean(Duration::from_nanos(points * ns_a_point)).peer(peer))
}

fn load_row(operation: &str, load: Load, table: &'static str) -> Row {
    let (points, series) = (load.points, load.series * load.writers);
    let how = match load.way {
        Way::Handle => "calls by handle",
        Way::Labels => "calls by labels",
        Way::Slice => "samples in one call",
        Way::EachHandle => "calls by handle, to one series after the other",
        Way::EachBatch => "points of as many series in one batch",
    };
    Row::new(operation, &series_text(series))
        .events(points as u64)
        .concurrency(load.writers)
        .on_the_dataset()
        .one_op(format!("{points} {how}"))
        .fills(table)
}

fn engine_rows(target: &mut Target) {
    let prometheus = "Prometheus 137 ns a point";
    #[rustfmt::skip] // A row per line.
    let rows = [
        ("Append by handle", Way::Handle, 1_000, 1, 25, "113-218 ns a point"),
        ("Append by labels", Way::Labels, 1_000, 1, 45, "113-218 ns a point"),
        ("Append batch", Way::Slice, 1_000, 1, 12, "Prometheus 95, VictoriaMetrics 60 ns a point"),
        ("Append to each", Way::EachHandle, 1_000, 1_000, 50, prometheus),
        ("Write a batch", Way::EachBatch, 1_000, 1_000, 50, prometheus),
        ("Append to each", Way::EachHandle, 10_000, 10_000, 50, prometheus),
    ];
    for (operation, way, points, series, ns, peer) in rows {
        let load = Load {
            way,
            points,
            series,
            writers: 1,
            durability: None,
        };
        let row = load_row(operation, load, "tsdb_engine_write").steady();
        target.row(goal(row, load, ns, peer), &load.op());
    }
    two_threads(target);
    target.row(
        Row::new("New series", &series_text(1_000))
            .steady()
            .events(1_000)
            .on_the_dataset()
            .fills("tsdb_engine_write")
            .one_op("an empty engine, and the first sample of 1,000 series")
            .goal(Goal::mean(Duration::from_millis(2)).peer("Prometheus 2.0 µs a series")),
        &Op::blocking(|| Ok((0..1_000).map(labels).collect::<Result<Vec<Labels>, _>>()?)).call(
            |all, _| {
                let db = Db::new(DbOptions::default());
                for labels in all {
                    db.append(labels, Sample::new(START_MS, 1.0))?;
                }
                std::hint::black_box(db);
                Ok(Outcome::Success)
            },
        ),
    );
}

/// Two threads, each with separate series. The floor is one thread that writes the samples of both.
/// An op has enough samples to make the time to start the threads negligible.
fn two_threads(target: &mut Target) {
    let load = |series, points, writers| Load {
        way: Way::EachHandle,
        points,
        series,
        writers,
        durability: None,
    };
    let alone = Floor::new(
        "one thread",
        "the samples of both threads, from one",
        &load(1_000, 100_000, 1).op(),
    );
    let both = load(500, 50_000, 2);
    target.row(
        load_row("Append to each", both, "tsdb_engine_write")
            .floor(&alone)
            .goal(Goal::share_of(&alone, 1.6)),
        &both.op(),
    );
}

fn log_rows(target: &mut Target) {
    let prometheus = "Prometheus 138-162 ns a point in batches, 2,951 alone";
    #[rustfmt::skip] // A row per line.
    let rows = [
        ("Append by handle, periodic fsync", Way::Handle, 1_000, PERIODIC, Some(90)),
        ("Append batch, periodic fsync", Way::Slice, 1_000, PERIODIC, Some(25)),
        ("Append by handle, unsynced", Way::Handle, 1_000, Durability::Unsynced, None),
        ("Append by handle, write-through", Way::Handle, 1, WRITE_THROUGH, None),
        ("Append batch, write-through", Way::Slice, 1_000, WRITE_THROUGH, None),
        ("Append by handle, fsync per commit", Way::Handle, 1, Durability::Commit, None),
        ("Append batch, fsync per commit", Way::Slice, 1_000, Durability::Commit, None),
    ];
    for (operation, way, points, durability, ns) in rows {
        let load = Load {
            way,
            points,
            series: 1,
            writers: 1,
            durability: Some(durability),
        };
        let row = load_row(operation, load, "tsdb_log");
        let row = match ns {
            Some(ns) => goal(row, load, ns, prometheus),
            None => row,
        };
        target.row(row, &load.op());
    }
    for (operation, snapshot) in [("Replay", false), ("Restart from a snapshot", true)] {
        let row = Row::new(operation, &series_text(1_000))
            .events(MILLION as u64)
            .on_the_dataset()
            .one_op("a folder with a million points of 1,000 series is opened, and closed")
            .fills("tsdb_log")
            .goal(Goal::mean(Duration::from_millis(30)).peer("Prometheus 116-171 ns a point"));
        target.row(row, &reopen(snapshot));
    }
}

fn reopen(snapshot: bool) -> Op {
    let options = || OpenOptions {
        snapshot_after_bytes: None,
        ..OpenOptions::default()
    };
    let setup = move || {
        let folder = tempfile::tempdir()?;
        let db = Db::open(folder.path(), options())?;
        let samples = Shape::DecimalWalk.samples(1_000);
        for number in 0..1_000 {
            db.series(&labels(number)?)?.append_batch(&samples)?;
        }
        if snapshot {
            db.write_snapshot()?;
        }
        db.close()?;
        Ok(folder)
    };
    Op::blocking(setup).call(move |folder, _| {
        let db = Db::open(folder.path(), options())?;
        match db.series_count() {
            1_000 => Ok(Outcome::Success),
            other => Err(format!("{other} series came back").into()),
        }
    })
}

/// Databases of a million points. The peak memory of a row is the size of its database.
fn memory_rows(target: &mut Target) {
    for shape in Shape::ALL {
        let row = Row::new("Fill", &format!("{}, {ONE_SERIES}", shape.name())).one_op(FILL);
        let facts = target.facts();
        facts.reserve(size_fact(shape));
        let setup = move || {
            let samples = shape.samples(MILLION);
            note_size(&facts, shape, &samples)?;
            Ok((samples, vec![labels(0)?]))
        };
        let op = Op::blocking(setup).call(fill);
        target.row(
            row.steady()
                .events(MILLION as u64)
                .on_the_dataset()
                .fills("tsdb_heap"),
            &op,
        );
    }
    let row = Row::new("Fill", &format!("decimal walk, {}", series_text(1_000)))
        .goal(Goal::peak_bytes(4e6).peer("Prometheus 13.3 bytes a point"));
    let setup = || {
        let all: Result<Vec<Labels>, _> = (0..1_000).map(labels).collect();
        Ok((Shape::DecimalWalk.samples(MILLION), all?))
    };
    target.row(
        row.one_op(FILL)
            .steady()
            .events(MILLION as u64)
            .on_the_dataset()
            .fills("tsdb_heap"),
        &Op::blocking(setup).call(fill),
    );
}

const FILL: &str = "an empty engine, and a million points in batches of 1,000 at most";

fn fill((samples, all): &(Vec<Sample>, Vec<Labels>), _: bench::Call) -> Result<Outcome, BoxError> {
    let db = Db::new(DbOptions::default());
    let each = samples.len() / all.len();
    for (labels, samples) in all.iter().zip(samples.chunks(each)) {
        let mut series = db.series(labels)?;
        for batch in samples.chunks(1_000) {
            series.append_batch(batch)?;
        }
    }
    std::hint::black_box(db);
    Ok(Outcome::Success)
}

fn remote_write_row(target: &mut Target) {
    let row = Row::new("Remote write", &series_text(1_000))
        .steady()
        .events(1_000)
        .on_the_dataset()
        .one_op("a request with one point of 1,000 series is decoded and written")
        .fills("tsdb_engine_write")
        .goal(Goal::mean(Duration::from_micros(120)).peer("VictoriaMetrics 858 ns a point"));
    let setup = || {
        let all = (0..1_000).map(labels).collect::<Result<Vec<Labels>, _>>()?;
        let body = |at: i64| {
            let sample = [Sample::new(START_MS + at * 10_000, 45.5 + at as f64)];
            remote_write::encode(all.iter().map(|labels| (labels, sample.as_slice())))
        };
        let bodies: Vec<Vec<u8>> = (0..1_000).map(body).collect();
        Ok((bodies, RwLock::new(keep_all())))
    };
    let op = Op::blocking(setup).call(|(bodies, db), call| {
        let index = call.op as usize % bodies.len();
        if index == 0 {
            *db.write().unwrap_or_else(PoisonError::into_inner) = keep_all();
        }
        let db = db.read().unwrap_or_else(PoisonError::into_inner);
        let written = remote_write::write(&db, &bodies[index]);
        let written = written.map_err(|_| "the row made a malformed request")?;
        match written.written {
            1_000 => Ok(Outcome::Success),
            other => Err(format!("{other} points were written").into()),
        }
    });
    target.row(row, &op);
}

/// The name of the fact that [`note_size`] sets.
fn size_fact(shape: Shape) -> String {
    format!("Bytes a point in sealed blocks, {}", shape.name())
}

/// Puts the size of a point in sealed blocks into the facts of the page.
fn note_size(facts: &Facts, shape: Shape, samples: &[Sample]) -> Result<(), BoxError> {
    let db = Db::new(DbOptions::default());
    // A multiple of the block size, so that no sample is left in the unsealed head.
    let samples = &samples[..488 * 2048];
    db.series(&labels(0)?)?.append_batch(samples)?;
    let size = db.stats().sample_bytes as f64 / samples.len() as f64;
    facts.set(size_fact(shape), format!("{size:.3}"));
    Ok(())
}
