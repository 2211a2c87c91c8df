use super::callers::{Call as BoxedCall, Callers, Returned};
use super::{BoxFuture, Call, Meter, Observed, Op, Outcome, Pass, Running, Shape};
use crate::error::BoxError;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

type Setup<S> = dyn Fn() -> BoxFuture<'static, Result<S, BoxError>> + Send + Sync;
type Step<S> = dyn Fn(Arc<S>, u64) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// The builder of an asynchronous [`Op`]: [`Op::setup`], then optional steps, then
/// [`call`](Self::call).
pub struct AsyncOp<S> {
    setup: Arc<Setup<S>>,
    before: Option<Arc<Step<S>>>,
    first: Option<Arc<Step<S>>>,
}

impl<S: Send + Sync + 'static> AsyncOp<S> {
    pub(super) fn new<F, Fut>(setup: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        Self {
            setup: Arc::new(move || Box::pin(setup())),
            before: None,
            first: None,
        }
    }

    /// Adds a step before each op that is neither timed nor counted, such as emptying a table. The
    /// step gets the number of the op.
    #[must_use]
    pub fn before<F, Fut>(mut self, step: F) -> Self
    where
        F: Fn(Arc<S>, u64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.before = Some(Arc::new(move |state, op| Box::pin(step(state, op))));
        self
    }

    /// Adds a first step to each op, which is timed and counted with the op. The step runs once,
    /// before the calls, and costs one allocation.
    #[must_use]
    pub fn first<F, Fut>(mut self, step: F) -> Self
    where
        F: Fn(Arc<S>, u64) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        self.first = Some(Arc::new(move |state, op| Box::pin(step(state, op))));
        self
    }

    /// Sets the call to measure.
    pub fn call<F, Fut>(self, call: F) -> Op
    where
        F: Fn(Arc<S>, Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Outcome, BoxError>> + Send + 'static,
    {
        let call = Arc::new(call);
        let start = move |shape| -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> {
            let (setup, call) = (self.setup.clone(), call.clone());
            let (before, first) = (self.before.clone(), self.first.clone());
            Box::pin(async move {
                let state = Arc::new(setup().await?);
                Ok(Box::new(Tasks {
                    state,
                    before,
                    first,
                    call,
                    shape,
                }) as Box<dyn Running>)
            })
        };
        Op {
            start: Arc::new(start),
            blocking: false,
        }
    }
}

impl<S> std::fmt::Debug for AsyncOp<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncOp").finish_non_exhaustive()
    }
}

struct Tasks<S, F> {
    state: Arc<S>,
    before: Option<Arc<Step<S>>>,
    first: Option<Arc<Step<S>>>,
    call: Arc<F>,
    shape: Shape,
}

impl<S, F, Fut> Tasks<S, F>
where
    S: Send + Sync + 'static,
    F: Fn(Arc<S>, Call) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, BoxError>> + Send + 'static,
{
    async fn once(&self, op: u64, pass: Pass) -> Result<Observed, BoxError> {
        if let Some(before) = &self.before {
            before(self.state.clone(), op).await?;
        }
        let mut seen = Observed {
            ops: 1,
            ..Observed::default()
        };
        // A single caller runs in this task: a spawn may take longer than the op itself.
        let returned = if self.shape.concurrency == 1 {
            let meter = Meter::start(pass);
            self.first(op).await?;
            let returned = self.call(op, 0).await?;
            meter.finish(&mut seen);
            vec![returned]
        } else {
            let boxed = |worker| -> BoxedCall { Box::pin(self.call(op, worker)) };
            let calls = (0..self.shape.concurrency).map(boxed).collect();
            let callers = Callers::gather(calls).await?;
            let meter = Meter::start(pass);
            self.first(op).await?;
            callers.call().await;
            meter.finish(&mut seen);
            // The clock has stopped, so joining the tasks is not part of the op.
            callers.outcomes().await?
        };
        for (outcome, latency_ns) in returned {
            seen.count(outcome);
            seen.latencies_ns.push(latency_ns);
        }
        self.shape
            .expect
            .check(seen.successes, self.shape.concurrency as u64)?;
        Ok(seen)
    }

    async fn first(&self, op: u64) -> Result<(), BoxError> {
        match &self.first {
            Some(first) => first(self.state.clone(), op).await,
            None => Ok(()),
        }
    }

    /// The outcome of a call, and its time in nanoseconds.
    fn call(
        &self,
        op: u64,
        worker: usize,
    ) -> impl Future<Output = Result<Returned, BoxError>> + Send + use<S, F, Fut> {
        let call = Call {
            op,
            worker,
            concurrency: self.shape.concurrency,
        };
        let (make, state) = (self.call.clone(), self.state.clone());
        // The call is made inside the future, so that it sees the state that `first` leaves.
        async move {
            let begun = Instant::now();
            let outcome = make(state, call).await?;
            Ok((outcome, begun.elapsed().as_nanos() as u64))
        }
    }
}

impl<S, F, Fut> Running for Tasks<S, F>
where
    S: Send + Sync + 'static,
    F: Fn(Arc<S>, Call) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, BoxError>> + Send + 'static,
{
    fn run(
        &mut self,
        first: u64,
        count: u64,
        pass: Pass,
    ) -> BoxFuture<'_, Result<Observed, BoxError>> {
        Box::pin(async move {
            let mut seen = Observed::default();
            for op in first..first + count {
                seen.add(self.once(op, pass).await?);
            }
            Ok(seen)
        })
    }

    fn runs_in_blocks(&self) -> bool {
        false
    }
}
