use super::{BoxFuture, Call, Meter, Observed, Op, Outcome, Pass, Running, Shape};
use crate::alloc::{Allocated, AllocationScope};
use crate::error::BoxError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

type Setup<S> = dyn Fn() -> Result<S, BoxError> + Send + Sync;
type Step<S> = dyn Fn(&S, u64) -> Result<(), BoxError> + Send + Sync;

/// The builder of a blocking [`Op`]: [`Op::blocking`], then optional steps, then
/// [`call`](Self::call).
pub struct BlockingOp<S> {
    setup: Arc<Setup<S>>,
    before: Option<Arc<Step<S>>>,
}

impl<S: Send + Sync + 'static> BlockingOp<S> {
    pub(super) fn new<F>(setup: F) -> Self
    where
        F: Fn() -> Result<S, BoxError> + Send + Sync + 'static,
    {
        Self {
            setup: Arc::new(setup),
            before: None,
        }
    }

    /// Adds a step before each op that is neither timed nor counted. The step gets the number of
    /// the op. With such a step every op is timed alone, and the clock is too coarse for ops under
    /// a microsecond.
    #[must_use]
    pub fn before<F>(mut self, step: F) -> Self
    where
        F: Fn(&S, u64) -> Result<(), BoxError> + Send + Sync + 'static,
    {
        self.before = Some(Arc::new(step));
        self
    }

    /// Sets the call to measure. Pass its result through `black_box`: nothing else consumes it.
    pub fn call<F>(self, call: F) -> Op
    where
        F: Fn(&S, Call) -> Result<Outcome, BoxError> + Send + Sync + 'static,
    {
        let call = Arc::new(call);
        let start = move |shape| -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> {
            let (setup, before, call) = (self.setup.clone(), self.before.clone(), call.clone());
            Box::pin(async move {
                let state = setup()?;
                Ok(Box::new(Threads {
                    state,
                    before,
                    call,
                    shape,
                }) as Box<dyn Running>)
            })
        };
        Op {
            start: Arc::new(start),
            blocking: true,
        }
    }
}

impl<S> std::fmt::Debug for BlockingOp<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockingOp").finish_non_exhaustive()
    }
}

struct Threads<S, F> {
    state: S,
    before: Option<Arc<Step<S>>>,
    call: Arc<F>,
    shape: Shape,
}

impl<S, F> Threads<S, F>
where
    S: Send + Sync + 'static,
    F: Fn(&S, Call) -> Result<Outcome, BoxError> + Send + Sync + 'static,
{
    fn block(&self, first: u64, count: u64, pass: Pass) -> Result<Observed, BoxError> {
        if let Some(before) = &self.before {
            before(&self.state, first)?;
        }
        let mut seen = match self.shape.concurrency {
            1 => self.on_this_thread(first, count, pass)?,
            _ => self.on_threads(first, count, pass)?,
        };
        seen.ops = count;
        seen.latencies_ns
            .push((seen.elapsed.as_nanos() / u128::from(count.max(1))) as u64);
        self.shape
            .expect
            .check(seen.successes, count * self.shape.concurrency as u64)?;
        Ok(seen)
    }

    fn on_this_thread(&self, first: u64, count: u64, pass: Pass) -> Result<Observed, BoxError> {
        let mut seen = Observed::default();
        let meter = Meter::start(pass);
        let outcomes = self.calls(first, count, 0);
        meter.finish(&mut seen);
        seen.add(outcomes?);
        Ok(seen)
    }

    /// The threads wait at a barrier until all of them run, so that starting them is not part of
    /// the op. Each thread takes its own times, because the thread that releases the barrier may be
    /// the last one to continue.
    fn on_threads(&self, first: u64, count: u64, pass: Pass) -> Result<Observed, BoxError> {
        let workers = self.shape.concurrency;
        let [ready, go, done] = [(); 3].map(|()| Barrier::new(workers + 1));
        thread::scope(|scope| {
            let spawn = |worker| {
                let (ready, go, done) = (&ready, &go, &done);
                scope.spawn(move || {
                    ready.wait();
                    go.wait();
                    let begun = Instant::now();
                    // A panic here would leave the other callers at the barrier forever.
                    let calls = AssertUnwindSafe(|| self.calls(first, count, worker));
                    let outcomes = catch_unwind(calls);
                    let ended = Instant::now();
                    done.wait();
                    outcomes.map(|outcomes| (outcomes, begun, ended))
                })
            };
            let threads: Vec<_> = (0..workers).map(spawn).collect();
            let mut seen = Observed::default();
            ready.wait();
            // Here, between the two barriers, all threads exist and no call has begun.
            let counting = (pass == Pass::Allocations).then(AllocationScope::start);
            go.wait();
            done.wait();
            seen.allocated = counting.map_or_else(Allocated::default, AllocationScope::finish);
            let mut span: Option<(Instant, Instant)> = None;
            for thread in threads {
                // A panic in a call was caught above and arrives here as the thread's error.
                let ended = thread.join().and_then(|ended| ended);
                let (outcomes, begun, ended) = ended.map_err(|_| "a measured call panicked")?;
                seen.add(outcomes?);
                let (first, last) = span.unwrap_or((begun, ended));
                span = Some((first.min(begun), last.max(ended)));
            }
            seen.elapsed = span.map_or(Duration::ZERO, |(first, last)| last - first);
            Ok(seen)
        })
    }

    fn calls(&self, first: u64, count: u64, worker: usize) -> Result<Observed, BoxError> {
        let concurrency = self.shape.concurrency;
        let mut seen = Observed::default();
        for op in first..first + count {
            seen.count((self.call)(
                &self.state,
                Call {
                    op,
                    worker,
                    concurrency,
                },
            )?);
        }
        Ok(seen)
    }
}

impl<S, F> Running for Threads<S, F>
where
    S: Send + Sync + 'static,
    F: Fn(&S, Call) -> Result<Outcome, BoxError> + Send + Sync + 'static,
{
    fn run(
        &mut self,
        first: u64,
        count: u64,
        pass: Pass,
    ) -> BoxFuture<'_, Result<Observed, BoxError>> {
        Box::pin(async move { self.block(first, count, pass) })
    }

    fn runs_in_blocks(&self) -> bool {
        self.before.is_none()
    }
}
