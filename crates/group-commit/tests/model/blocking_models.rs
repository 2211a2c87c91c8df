use std::sync::Arc;
use std::time::Instant;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread::spawn;

use crate::explore::explore;
use crate::ledger::{Ledger, Request, any_kind, plain};
use crate::{BlockingQueue, Limits, SubmitError};

fn queue() -> Arc<BlockingQueue<Ledger>> {
    let limits = Limits {
        max_batch_requests: 3,
        max_queued_requests: 4,
        fill_yields: thread_rng().gen_range(0..3),
        ..Limits::default()
    };
    Arc::new(BlockingQueue::new(Ledger::default(), limits))
}

fn caller(queue: &BlockingQueue<Ledger>, request: Request, manner: u32) {
    let outcome = match manner {
        0 => queue.submit(request),
        1 => queue.submit_until(request, Instant::now()),
        _ => queue.try_submit(request),
    };
    match outcome {
        Err(SubmitError::TimedOut) => assert_eq!(manner, 1),
        Err(SubmitError::Full) => assert_eq!(manner, 2),
        _ => {}
    }
    queue.committer().check(request, Some(&outcome));
}

fn close_and_check_idle(queue: &BlockingQueue<Ledger>) {
    queue.close();
    assert!(
        !queue.committer().is_committing(),
        "close returned during a commit"
    );
    let stats = queue.stats();
    assert_eq!(
        (stats.queued, stats.queued_bytes, stats.waiting_for_room),
        (0, 0, 0)
    );
    assert_eq!(queue.submit(plain(99)), Err(SubmitError::Closed));
}

fn run(request: fn(u32) -> Request, manner: fn() -> u32) {
    let queue = queue();
    let callers: Vec<_> = (0..5)
        .map(|id| {
            let queue = Arc::clone(&queue);
            spawn(move || caller(&queue, request(id), manner()))
        })
        .collect();
    for caller in callers {
        caller.join().expect("a caller ends");
    }
    close_and_check_idle(&queue);
}

#[test]
fn every_thread_is_committed_once() {
    explore(|| run(plain, || 0));
}

#[test]
fn timed_out_threads_do_not_affect_the_others() {
    explore(|| run(plain, || thread_rng().gen_range(0..3)));
}

#[test]
fn errors_and_panics_reach_their_own_threads() {
    explore(|| run(any_kind, || thread_rng().gen_range(0..3)));
}

#[test]
fn close_races_with_threads() {
    explore(|| {
        let queue = queue();
        let callers = [0, 1, 2, 3].map(|id| {
            let queue = Arc::clone(&queue);
            spawn(move || caller(&queue, plain(id), thread_rng().gen_range(0..3)))
        });
        let closers = [(); 2].map(|()| {
            let queue = Arc::clone(&queue);
            spawn(move || close_and_check_idle(&queue))
        });
        for closer in closers {
            closer.join().expect("close returns");
        }
        // The callers may still run, but `close` has returned, so the log must not grow.
        let written = queue.committer().written();
        for caller in callers {
            caller.join().expect("a caller ends");
        }
        assert_eq!(
            queue.committer().written(),
            written,
            "written after close returned"
        );
    });
}
