//! The parts of an op that the allocation pass counts.

use crate::common::{FIRST, Folders};
use bench::{Figures, Op, Outcome, Row, measure};
fn figures(row: &Row, op: &Op) -> Figures {
    let folders = Folders::new();
    let saved = measure("toy", folders.settings(FIRST), |target| {
        target.row(row.clone(), op);
        Ok(())
    });
    saved.unwrap().rows[0]
        .figures()
        .expect("the row was measured")
        .clone()
}

#[test]
fn step_before_op_is_not_counted() {
    let _counting = crate::counting();
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
fn first_step_of_op_is_counted() {
    let _counting = crate::counting();
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
    let _counting = crate::counting();
    let op = Op::blocking(|| Ok(1_u64)).call(|one, call| {
        std::hint::black_box(one + call.op);
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Add", "none"), &op);
    assert!(figures.ops_per_latency > 1, "{figures:?}");
    assert_eq!(figures.allocations_per_op.round(), 0.0);
}

/// The counting thread also waits at the barrier, and may not be the first thread to leave it.
#[test]
fn allocations_of_all_blocking_callers_are_counted() {
    const CALLERS: usize = 64;
    let _counting = crate::counting();
    let op = Op::blocking(|| Ok(())).call(|(), _call| {
        std::hint::black_box(vec![0_u8; 1 << 20]);
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Threads", "none").concurrency(CALLERS), &op);
    let least = (CALLERS << 20) as f64;
    assert!(figures.bytes_per_op >= least, "{figures:?}");
}

#[test]
fn spawning_tasks_is_not_counted() {
    let _counting = crate::counting();
    let op = Op::setup(|| async { Ok(()) }).call(|_, _| async {
        tokio::task::yield_now().await;
        Ok(Outcome::Success)
    });
    let figures = figures(&Row::new("Tasks", "none").concurrency(64), &op);
    // The runtime may allocate a queue for tasks that yield.
    assert!(figures.allocations_per_op < 16.0, "{figures:?}");
}
