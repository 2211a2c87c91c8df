use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use shuttle::future::{block_on, spawn, yield_now};
use shuttle::rand::{Rng, thread_rng};

use crate::explore::explore;
use crate::ledger::{Kind, Ledger, Request, any_kind, plain};
use crate::{Limits, Outcome, Queue, SubmitError};

type Callers = Vec<shuttle::future::JoinHandle<()>>;

/// Limits so small that six callers need several batches and fill the queue.
fn limits(fill_yields: u32) -> Limits {
    Limits {
        max_batch_requests: 3,
        max_queued_requests: 4,
        fill_yields,
        ..Limits::default()
    }
}

fn queue(fill_yields: u32) -> Arc<Queue<Ledger>> {
    Arc::new(Queue::with_spawner(
        Ledger::default(),
        limits(fill_yields),
        |drive| {
            spawn(drive);
        },
    ))
}

fn some_fill_yields() -> u32 {
    thread_rng().gen_range(0..3)
}

async fn some_yields() {
    for _ in 0..thread_rng().gen_range(0..4) {
        yield_now().await;
    }
}

/// Polls `future` until it ends or a random number of yields has passed, then drops it.
async fn abandon<T>(future: impl Future<Output = T>) -> Option<T> {
    let (mut future, mut patience) = (pin!(future), pin!(some_yields()));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => patience.as_mut().poll(cx).map(|()| None),
    })
    .await
}

async fn caller(queue: Arc<Queue<Ledger>>, request: Request, manner: u32) {
    let outcome = match manner {
        0 => Some(queue.submit(request).await),
        1 => Some(queue.submit_until(request, some_yields()).await),
        2 => Some(queue.try_submit(request).await),
        _ => abandon(queue.submit(request)).await,
    };
    check_manner(manner, outcome.as_ref());
    // A dropped caller has no outcome, but its request must not be written twice either.
    queue.committer().check(request, outcome.as_ref());
}

/// Runs six callers, numbered from 0. `request` returns a caller's request, and `manner` the way in
/// which it submits the request: see [`caller`].
fn spawn_callers(
    queue: &Arc<Queue<Ledger>>,
    request: fn(u32) -> Request,
    manner: fn(u32) -> u32,
) -> Callers {
    (0..6)
        .map(|id| spawn(caller(Arc::clone(queue), request(id), manner(id))))
        .collect()
}

fn any_manner(_id: u32) -> u32 {
    thread_rng().gen_range(0..4)
}

fn check_manner(manner: u32, outcome: Option<&Outcome<Ledger>>) {
    match outcome {
        Some(Err(SubmitError::TimedOut)) => assert_eq!(manner, 1),
        Some(Err(SubmitError::Full)) => assert_eq!(manner, 2),
        _ => {}
    }
}

async fn join(callers: Callers) {
    for caller in callers {
        caller.await.expect("a caller ends");
    }
}

async fn close_and_check_idle(queue: &Queue<Ledger>) {
    queue.close().await;
    assert!(
        !queue.committer().is_committing(),
        "close returned during a commit"
    );
    let stats = queue.stats();
    assert_eq!(
        (stats.queued, stats.queued_bytes, stats.waiting_for_room),
        (0, 0, 0)
    );
    let late = queue.submit(plain(99)).await;
    assert_eq!(late, Err(SubmitError::Closed));
}

/// Checks that every request that the queue took for a batch is written.
fn check_finished(queue: &Queue<Ledger>) {
    let written = queue.committer().written().len();
    assert_eq!(
        queue.stats().requests,
        written as u64,
        "the queue took a request and did not write it"
    );
}

fn run_plain(manner: fn(u32) -> u32) {
    block_on(async {
        let queue = queue(some_fill_yields());
        join(spawn_callers(&queue, plain, manner)).await;
        close_and_check_idle(&queue).await;
        check_finished(&queue);
    });
}

#[test]
fn every_caller_is_committed_once() {
    explore(|| run_plain(|_| 0));
}

#[test]
fn dropped_callers_do_not_affect_the_others() {
    explore(|| run_plain(|id| if id % 2 == 0 { 3 } else { 0 }));
}

#[test]
fn timed_out_callers_do_not_affect_the_others() {
    explore(|| run_plain(|id| id % 2));
}

#[test]
fn callers_of_all_kinds_do_not_affect_each_other() {
    explore(|| run_plain(any_manner));
}

#[test]
fn errors_and_panics_reach_their_own_callers() {
    explore(|| {
        block_on(async {
            let queue = queue(some_fill_yields());
            join(spawn_callers(&queue, any_kind, any_manner)).await;
            close_and_check_idle(&queue).await;
        });
    });
}

/// A caller that is polled once and then held, as in `tokio::select!`, must delay no other caller
/// and no `close`.
#[test]
fn held_callers_do_not_delay_the_others() {
    explore(|| {
        block_on(async {
            let queue = queue(some_fill_yields());
            let mut held: Vec<_> = [10, 11, 12]
                .map(|id| Box::pin(queue.submit(plain(id))))
                .into();
            let mut outcomes = Vec::new();
            for call in &mut held {
                outcomes.push(poll_once(call.as_mut()).await);
            }
            join(spawn_callers(&queue, plain, any_manner)).await;
            close_and_check_idle(&queue).await;
            for (call, outcome) in held.into_iter().zip(outcomes) {
                let outcome = match outcome {
                    Poll::Ready(outcome) => outcome,
                    Poll::Pending => call.await,
                };
                assert!(outcome.is_ok(), "{outcome:?}");
            }
            check_finished(&queue);
        });
    });
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

fn one_poison(id: u32) -> Request {
    Request {
        id,
        kind: if id == 0 { Kind::Poison } else { Kind::Plain },
    }
}

#[test]
fn invalid_request_fails_no_other_caller() {
    explore(|| {
        block_on(async {
            let queue = queue(some_fill_yields());
            join(spawn_callers(&queue, one_poison, |_| 0)).await;
            let mut written = queue.committer().written();
            written.sort_unstable();
            assert_eq!(written, [1, 2, 3, 4, 5]);
        });
    });
}

#[test]
fn requests_are_committed_in_order_of_arrival() {
    explore(|| {
        block_on(async {
            let queue = queue(some_fill_yields());
            let callers = [0, 10, 20].map(|id| spawn(ordered_caller(Arc::clone(&queue), id)));
            join(callers.into()).await;
        });
    });
}

/// Submits five requests at once. The third call may be dropped early, and the last request may be
/// invalid.
async fn ordered_caller(queue: Arc<Queue<Ledger>>, id: u32) {
    let kind = if thread_rng().gen_bool(0.5) {
        Kind::Poison
    } else {
        Kind::Plain
    };
    let outcomes = tokio::join!(
        // `biased` polls the calls in this order, so the requests arrive in it.
        biased;
        queue.submit(plain(id)),
        queue.submit(plain(id + 1)),
        abandon(queue.submit(plain(id + 2))),
        queue.submit(plain(id + 3)),
        queue.submit(Request { id: id + 4, kind }),
    );
    assert_eq!(
        (outcomes.0, outcomes.1, outcomes.3),
        (Ok(id), Ok(id + 1), Ok(id + 3))
    );
    assert_eq!(outcomes.4.is_err(), kind == Kind::Poison);
    queue.committer().check_order(id..id + 10);
}

#[test]
fn close_races_with_callers() {
    explore(|| {
        block_on(async {
            let queue = queue(some_fill_yields());
            let callers = spawn_callers(&queue, plain, any_manner);
            let closers = [(); 2].map(|()| {
                let queue = Arc::clone(&queue);
                spawn(async move { close_and_check_idle(&queue).await })
            });
            join(closers.into()).await;
            // The callers may still run, but `close` has returned, so the log must not grow.
            let written = queue.committer().written();
            join(callers).await;
            assert_eq!(
                queue.committer().written(),
                written,
                "written after close returned"
            );
        });
    });
}

/// A runtime that shuts down drops the tasks that commit. Callers on another runtime must still get
/// an outcome.
#[test]
fn the_queue_survives_a_spawner_that_drops_its_tasks() {
    explore(|| {
        block_on(async {
            let queue =
                Queue::with_spawner(Ledger::default(), limits(some_fill_yields()), |drive| {
                    if thread_rng().gen_bool(0.5) {
                        spawn(abandon(drive));
                    }
                });
            let queue = Arc::new(queue);
            let callers = spawn_callers(&queue, plain, any_manner);
            join(callers).await;
            close_and_check_idle(&queue).await;
        });
    });
}
