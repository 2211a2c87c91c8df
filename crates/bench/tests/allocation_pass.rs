//! What of an op the allocation pass counts. The counter sees all threads, hence one test at a
//! time.

mod common;

use bench::{Figures, Op, Outcome, Row, measure};
use common::{FIRST, Place};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn figures(row: &Row, op: &Op) -> Figures {
    let place = Place::new();
    let saved = measure("toy", place.settings(FIRST), |target| {
        target.row(row.clone(), op);
        Ok(())
    });
    saved.unwrap().rows[0]
        .figures()
        .expect("the row was measured")
        .clone()
}

#[test]
fn what_runs_before_an_op_is_not_counted() {
    let _alone = alone();
    let op = Op::setup(|| async { Ok(()) })
        .before(|_, _| async {
            std::hint::black_box(vec![0_u8; 1 << 20]);
            Ok(())
        })
        .call(|_, _| async { Ok(Outcome::Success) });
    let figures = figures(&Row::new("Before", "none"), &op);
    assert!(figures.peak_bytes < 1 << 20, "{figures:?}");
}

#[test]
fn the_first_step_of_an_op_is_part_of_it() {
    let _alone = alone();
    let op = Op::setup(|| async { Ok(()) })
        .first(|_, _| async {
            std::hint::black_box(vec![0_u8; 1 << 20]);
            Ok(())
        })
        .call(|_, _| async { Ok(Outcome::Success) });
    let figures = figures(&Row::new("First", "none"), &op);
    assert!(figures.bytes_per_op >= f64::from(1 << 20), "{figures:?}");
}

#[test]
fn short_blocking_ops_are_timed_in_blocks() {
    let _alone = alone();
    let op = Op::blocking(|| Ok(1_u64)).call(|one, call| {
        std::hint::black_box(one + call.op);
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Add", "none"), &op);
    assert!(figures.ops_per_latency > 1, "{figures:?}");
    assert_eq!(figures.allocations_per_op.round(), 0.0);
}

/// The thread that counts is one more at the barrier, and need not be the first to leave it.
#[test]
fn what_every_blocking_caller_allocates_is_counted() {
    const CALLERS: usize = 64;
    let _alone = alone();
    let op = Op::blocking(|| Ok(())).call(|(), _call| {
        std::hint::black_box(vec![0_u8; 1 << 20]);
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Threads", "none").concurrency(CALLERS), &op);
    let least = (CALLERS << 20) as f64;
    assert!(figures.bytes_per_op >= least, "{figures:?}");
}

#[test]
fn tasks_are_made_and_taken_down_outside_the_op() {
    let _alone = alone();
    let op = Op::setup(|| async { Ok(()) }).call(|_, _| async {
        tokio::task::yield_now().await;
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Tasks", "none").concurrency(64), &op);
    // The runtime may make a buffer for those that yield.
    assert!(figures.allocations_per_op < 16.0, "{figures:?}");
}
