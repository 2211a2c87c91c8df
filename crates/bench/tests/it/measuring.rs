//! The figures of a row.

use crate::common::{FIRST, Folders, allocating, yielding};
use bench::{BoxError, Call, Error, Expect, Figures, Floor, Goal, Op, Outcome, Row, measure};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn figures(row: &Row, op: &Op) -> Result<Figures, Error> {
    let folders = Folders::new();
    let saved = measure("toy", folders.settings(FIRST), |target| {
        target.row(row.clone(), op);
        Ok(())
    })?;
    Ok(saved.rows[0]
        .figures()
        .expect("the row was measured")
        .clone())
}

#[test]
fn calls_per_second_counts_all_callers() {
    let figures = figures(&Row::new("Yield", "none").concurrency(7), &yielding()).unwrap();
    let calls_per_op = figures.calls_per_second / figures.ops_per_second();
    assert!((calls_per_op - 7.0).abs() < 1e-9, "{calls_per_op}");
    assert!(figures.p50_ns <= figures.p99_ns);
    assert!(figures.mean_ns.low <= figures.mean_ns.value);
    assert!(figures.mean_ns.value <= figures.mean_ns.high);
}

#[test]
fn floors_take_turns_in_changing_order() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let op = |name: &'static str| {
        let calls = calls.clone();
        Op::setup(|| async { Ok(()) }).call(move |_, _| {
            calls.lock().unwrap().push(name);
            async { Ok(Outcome::Success) }
        })
    };
    let floors = ["first", "second"].map(|name| Floor::new(name, "the same", &op(name)));
    let row = Row::new("Row", "none").floor(&floors[0]).floor(&floors[1]);
    let figures = figures(&row, &op("row")).unwrap();
    let calls = calls.lock().unwrap();
    let of = |name: &str| calls.iter().filter(|call| **call == name).count();
    assert!(of("row") > 20);
    for floor in ["first", "second"] {
        assert!(0 < of(floor) && of(floor) <= of("row"));
    }
    let follows = |one: &str, other: &str| {
        let pairs = calls.windows(2);
        pairs.filter(|pair| **pair == [one, other]).count()
    };
    let others = [
        ("first", "second", "row"),
        ("row", "second", "first"),
        ("row", "first", "second"),
    ];
    for (one, other, after) in others {
        let [one, other] = [follows(one, after), follows(other, after)];
        assert!(
            one.abs_diff(other) <= 3,
            "{after} followed one side {one} times, the other {other} times"
        );
    }
    let ratio = figures.floor("first").unwrap().ratio;
    assert!(ratio.low <= ratio.value && ratio.value <= ratio.high);
}

/// A busy machine may interrupt the quick side for longer than the slow one works, so one of ten runs
/// suffices. A floor that got as many ops as its row would fail in each.
#[test]
fn slower_floor_gets_same_time_with_fewer_ops() {
    let runs: Vec<_> = (0..10)
        .map(|_| ops_and_ratio_beside_a_slow_floor())
        .collect();
    let fewer =
        |(row, floor, ratio): &(u64, u64, f64)| *floor > 0 && floor * 4 < *row && *ratio < 0.5;
    assert!(
        runs.iter().any(fewer),
        "ops, ops of the floor, ratio: {runs:?}"
    );
}

fn ops_and_ratio_beside_a_slow_floor() -> (u64, u64, f64) {
    let calls = Arc::new(Mutex::new([0, 0]));
    let op = |side: usize, spun: Duration| {
        let calls = calls.clone();
        Op::setup(|| async { Ok(()) }).call(move |_, _| {
            calls.lock().unwrap()[side] += 1;
            let begun = Instant::now();
            while begun.elapsed() < spun {}
            async { Ok(Outcome::Success) }
        })
    };
    let slow = Floor::new("slow", "forty times", &op(1, Duration::from_micros(40)));
    let row = Row::new("Row", "none").floor(&slow);
    let figures = figures(&row, &op(0, Duration::from_micros(1))).unwrap();
    let [row, floor] = *calls.lock().unwrap();
    (row, floor, figures.floor("slow").unwrap().ratio.value)
}

#[test]
fn call_index_is_unique() {
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let again = Arc::new(AtomicU64::new(0));
    let op = {
        let (seen, again) = (seen.clone(), again.clone());
        Op::setup(|| async { Ok(()) }).call(move |_, call: Call| {
            again.fetch_add(
                u64::from(!seen.lock().unwrap().insert(call.index())),
                Relaxed,
            );
            async { Ok(Outcome::Success) }
        })
    };
    figures(&Row::new("Index", "none").concurrency(3), &op).unwrap();
    assert!(seen.lock().unwrap().len() > 30);
    assert_eq!(again.load(Relaxed), 0);
}

#[test]
fn outcomes_are_reported_as_rates() {
    let op = Op::setup(|| async { Ok(()) }).call(|_, call: Call| async move {
        Ok(if call.worker < 5 {
            Outcome::Success
        } else {
            Outcome::Refused
        })
    });
    let row = Row::new("Limits", "none")
        .concurrency(8)
        .expect(Expect::Any);
    let figures = figures(&row, &op).unwrap();
    assert_eq!((figures.success_rate, figures.refused_rate), (0.625, 0.375));
}

#[test]
fn blocking_callers_run_concurrently() {
    let op = Op::blocking(|| Ok(std::sync::Barrier::new(4))).call(|together, _| {
        together.wait();
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Meet", "none").concurrency(4), &op).unwrap();
    assert_eq!(figures.success_rate, 1.0);
}

type Spans = Arc<Mutex<HashMap<u64, (Instant, Instant)>>>;

/// A call that takes a while and records its span.
fn spin(spans: &Spans, call: Call) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_micros(100) {}
    let mut spans = spans.lock().unwrap();
    let span = spans.entry(call.op).or_insert((begun, begun));
    *span = (span.0.min(begun), span.1.max(Instant::now()));
}

/// The measuring thread also waits at the barrier, and may not be the first thread to leave it.
#[test]
fn blocking_op_time_covers_all_calls() {
    let spans = Spans::default();
    let op = Op::blocking(|| Ok(())).before(|(), _op| Ok(()));
    let noted = spans.clone();
    let op = op.call(move |(), call| {
        spin(&noted, call);
        Ok(Outcome::Success)
    });
    op_time_covers_all_calls(&op, &spans);
}

/// The measuring task releases the others, and may not be the last one to run.
#[test]
fn async_op_time_covers_all_calls() {
    let spans = Spans::default();
    let noted = spans.clone();
    let op = Op::setup(|| async { Ok(()) }).call(move |_, call| {
        let noted = noted.clone();
        async move {
            spin(&noted, call);
            Ok(Outcome::Success)
        }
    });
    op_time_covers_all_calls(&op, &spans);
}

fn op_time_covers_all_calls(op: &Op, spans: &Spans) {
    let folders = Folders::new();
    let mut settings = folders.settings(FIRST);
    settings.profile.allocation_ops = 1;
    let saved = measure("toy", settings, |target| {
        target.row(Row::new("Spin", "none").concurrency(16), op);
        Ok(())
    });
    let saved = saved.unwrap();
    let figures = saved.rows[0].figures().expect("the row was measured");
    let ops: u64 = figures.samples.iter().map(|sample| sample.ops).sum();
    let measured_ns: f64 = figures
        .samples
        .iter()
        .map(|s| s.ns_per_op * s.ops as f64)
        .sum();
    let spans = spans.lock().unwrap();
    // The last op belongs to the allocation pass, the ops before the samples to the warm-up.
    let end = spans.len() as u64 - 1;
    let sampled = (end - ops..end).map(|op| spans[&op]);
    let spans_ns: f64 = sampled
        .map(|(begun, ended)| (ended - begun).as_nanos() as f64)
        .sum();
    assert!(measured_ns >= spans_ns, "{measured_ns} ns of {spans_ns}");
}

#[test]
fn panic_in_blocking_call_ends_run() {
    let op = Op::blocking(|| Ok(())).call(|(), call| {
        assert!(call.worker != 1, "the panic that the test needs");
        Ok(Outcome::Success)
    });
    let error = figures(&Row::new("Panic", "none").concurrency(2), &op).unwrap_err();
    assert_eq!(
        error.to_string(),
        "row Panic/none/C2/E1 failed: a measured call panicked"
    );
}

#[test]
fn panic_in_task_ends_run() {
    let op = Op::setup(|| async { Ok(()) }).call(|_, call| async move {
        assert!(call.worker != 1, "the panic that the test needs");
        Ok(Outcome::Success)
    });
    let error = figures(&Row::new("Panic", "none").concurrency(2), &op).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("row Panic/none/C2/E1 failed"), "{text}");
}

#[test]
fn blocking_floor_of_async_row_is_refused() {
    let blocking = Op::blocking(|| Ok(())).call(|(), _| Ok(Outcome::Success));
    let floor = Floor::new("blocking", "nothing", &blocking);
    let error = figures(&Row::new("Async", "none").floor(&floor), &yielding());
    assert!(matches!(error, Err(Error::MixedKinds { .. })));
}

#[test]
fn goal_without_its_floor_is_refused() {
    let floor = Floor::new("absent", "nothing", &yielding());
    let row = Row::new("Async", "none").goal(Goal::at_most_times(&floor, 1.0));
    assert!(matches!(
        figures(&row, &allocating()),
        Err(Error::UnknownFloor { .. })
    ));
}

#[test]
fn failed_set_up_names_row() {
    let op = Op::setup(|| async { Err::<(), BoxError>("no server".into()) })
        .call(|_, _| async { Ok(Outcome::Success) });
    let error = figures(&Row::new("Setup", "none"), &op).unwrap_err();
    assert_eq!(error.to_string(), "row Setup/none/C1/E1 failed: no server");
}
