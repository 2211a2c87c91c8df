//! The loops that make the calls.

mod arrivals;

use super::caller::{Caller, DatabaseWork, Service};
use super::direct::{Direct, DirectService};
use super::figures::{CallCost, LoadFigures};
use super::schedule::Schedule;
use super::tally::{Called, Tally};
use crate::alloc::AllocationScope;
use crate::error::BoxError;
use crate::op::{BoxFuture, Outcome};
use arrivals::Arrivals;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The interval between progress lines of a running load.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);
/// The pause of a caller after a failure. Without it, a dead service would be called in a hot loop.
const AFTER_FAILURE: Duration = Duration::from_millis(50);

type Start = dyn Fn() -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> + Send + Sync;

/// A schedule and the service that it calls. The set-up runs right before the row is measured, and
/// the service is dropped after the row.
#[derive(Clone)]
pub struct Load {
    turns: u32,
    start: Arc<Start>,
}

impl Load {
    /// A load on the service that `setup` returns.
    pub fn new<S, F, Fut>(schedule: Schedule, setup: F) -> Self
    where
        S: Service,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<S, BoxError>> + Send + 'static,
    {
        let turns = schedule.turns();
        let setup = Arc::new(setup);
        let start = move || -> BoxFuture<'static, Result<Box<dyn Running>, BoxError>> {
            let (schedule, setup) = (schedule.clone(), Arc::clone(&setup));
            Box::pin(async move {
                let running: Box<dyn Running> = Box::new(Started {
                    tally: Arc::new(Tally::new(&schedule)),
                    schedule,
                    service: setup().await?,
                    cost: None,
                });
                Ok(running)
            })
        };
        Self {
            turns,
            start: Arc::new(start),
        }
    }

    /// A load of calls that block, by a thread for each caller. Each call gets the state that `setup` returns.
    pub fn blocking<S: Send + Sync + 'static>(
        schedule: Schedule,
        setup: impl Fn() -> Result<S, BoxError> + Send + Sync + 'static,
        call: impl Fn(&S) -> Result<Outcome, BoxError> + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::new(schedule, move || {
            let state = setup();
            async move {
                let state = Arc::new(state?);
                let calls = move |_| {
                    let state = Arc::clone(&state);
                    move || {
                        let state = Arc::clone(&state);
                        Direct::new(async move { call(&state) })
                    }
                };
                Ok(DirectService::new(calls).blocking())
            }
        })
    }

    /// Runs the set-up, makes the calls and returns their figures. If the future is dropped, it
    /// makes no further call; callers that block go on to the end of their turn.
    ///
    /// # Errors
    /// The errors of the set-up and of connecting. Failed calls are counted, not returned.
    pub async fn run(&self) -> Result<LoadFigures, BoxError> {
        let mut running = (self.start)().await?;
        running.turn(1).await?;
        Ok(running.figures())
    }

    /// The number of turns in which it can run.
    pub(crate) fn turns(&self) -> u32 {
        self.turns
    }

    /// Runs the set-up.
    pub(crate) async fn start(&self) -> Result<Box<dyn Running>, BoxError> {
        (self.start)().await
    }
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").finish_non_exhaustive()
    }
}

/// A load after its set-up.
pub(crate) trait Running: Send + Sync {
    /// Makes the calls of one of `turns` turns.
    fn turn(&mut self, turns: u32) -> BoxFuture<'_, Result<(), BoxError>>;

    /// The figures of all turns so far.
    fn figures(&self) -> LoadFigures;
}

struct Started<S> {
    schedule: Schedule,
    service: S,
    tally: Arc<Tally>,
    /// The work of the database before the first turn and now, and the allocations of a call.
    cost: Option<Cost>,
}

struct Cost {
    before: DatabaseWork,
    after: DatabaseWork,
    allocations: f64,
}

impl<S: Service> Running for Started<S> {
    fn turn(&mut self, turns: u32) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            let before = self.service.database_work();
            let counts = before.is_some();
            let allocations =
                turn(&self.schedule, &self.service, &self.tally, turns, counts).await?;
            self.cost = before
                .zip(self.service.database_work())
                .map(|(before, after)| Cost {
                    before: self.cost.as_ref().map_or(before, |cost| cost.before),
                    after,
                    // Those of the last turn: the first one fills caches.
                    allocations,
                });
            Ok(())
        })
    }

    fn figures(&self) -> LoadFigures {
        let mut figures = self.tally.figures(&self.schedule);
        let calls = self.tally.all_calls();
        figures.cost = self.cost.as_ref().map(|cost| cost.per_call(calls));
        figures
    }
}

impl Cost {
    fn per_call(&self, calls: u64) -> CallCost {
        let per_call = |before: u64, after: u64| (after - before) as f64 / calls.max(1) as f64;
        CallCost {
            reads: per_call(self.before.reads, self.after.reads),
            commits: per_call(self.before.commits, self.after.commits),
            allocations: self.allocations,
        }
    }
}

/// Makes the calls of a turn. Returns the allocations of a call in its warm-up, if it `counts` them.
async fn turn(
    schedule: &Schedule,
    service: &impl Service,
    tally: &Arc<Tally>,
    turns: u32,
    counts: bool,
) -> Result<f64, BoxError> {
    let mut callers = Vec::with_capacity(schedule.callers());
    // All connections are open before the clock starts.
    for number in 0..schedule.callers() {
        callers.push(service.caller(number).await?);
    }
    let begun = Instant::now();
    let [warm_up, time] = schedule.turn(turns);
    tally.begin_turn(begun + warm_up);
    let allocations = count_allocations(counts, warm_up, tally);
    // Dropping the set aborts its tasks, so dropping this future stops the load.
    let mut tasks = JoinSet::new();
    match schedule {
        Schedule::Closed { .. } => {
            let end = begun + warm_up + time;
            for caller in callers {
                let calls = closed(caller, end, Arc::clone(tally));
                start(&mut tasks, service.blocks(), calls);
            }
        }
        Schedule::Open { per_second, .. } => {
            let arrivals = Arrivals::begin(begun, *per_second, time, callers.len())?;
            // After the last call has fallen due, callers have `time` once more for calls that are
            // late. Then the load gives up, because an overloaded service may never catch up.
            let give_up = begun + 2 * time;
            for caller in callers {
                let arrivals = Arc::clone(&arrivals);
                let calls = open(caller, arrivals, give_up, Arc::clone(tally));
                start(&mut tasks, service.blocks(), calls);
            }
        }
        Schedule::Users(ramp) => {
            for (number, caller) in callers.into_iter().enumerate() {
                let spans = ramp.spans(number).into_iter();
                let spans = spans.map(|span| begun + span.start..begun + span.end);
                let calls = user(caller, spans.collect(), Arc::clone(tally));
                start(&mut tasks, service.blocks(), calls);
            }
        }
    }
    let ended = async {
        let allocations = allocations.await;
        while let Some(ended) = tasks.join_next().await {
            ended?;
        }
        Ok::<f64, BoxError>(allocations)
    };
    tokio::select! {
        ended = ended => ended,
        // It prints until it is dropped, so this branch never wins.
        never = print_progress(begun, warm_up + time, tally) => match never {},
    }
}

/// Runs a caller as a task, or on a thread if its calls block. A thread can't be aborted: it ends with its turn.
fn start(tasks: &mut JoinSet<()>, blocks: bool, calls: impl Future<Output = ()> + Send + 'static) {
    if blocks {
        let runtime = Handle::current();
        tasks.spawn_blocking(move || runtime.block_on(calls));
    } else {
        tasks.spawn(calls);
    }
}

/// Counts the allocations of the warm-up, if `is_wanted`. The result is their number per call.
fn count_allocations(
    is_wanted: bool,
    warm_up: Duration,
    tally: &Arc<Tally>,
) -> impl Future<Output = f64> + use<> {
    let scope = is_wanted.then(AllocationScope::start);
    let earlier = tally.early_calls();
    let tally = Arc::clone(tally);
    async move {
        let Some(scope) = scope else {
            return 0.0;
        };
        sleep(warm_up).await;
        let calls = (tally.early_calls() - earlier).max(1);
        scope.finish().allocations as f64 / calls as f64
    }
}

async fn closed(mut caller: impl Caller, end: Instant, tally: Arc<Tally>) {
    while Instant::now() < end {
        once(&mut caller, None, &tally).await;
    }
}

async fn open(
    mut caller: impl Caller,
    arrivals: Arc<Arrivals>,
    give_up: Instant,
    tally: Arc<Tally>,
) {
    while let Some(due) = arrivals.next().await {
        let now = Instant::now();
        if now > give_up {
            tally.never_made(due, now);
        } else {
            once(&mut caller, Some(due), &tally).await;
        }
    }
}

async fn user(mut caller: impl Caller, spans: Vec<Range<Instant>>, tally: Arc<Tally>) {
    for span in spans {
        sleep(span.start.saturating_duration_since(Instant::now())).await;
        while Instant::now() < span.end {
            let pause = once(&mut caller, None, &tally).await;
            // A user whose span ends does not finish its pause.
            let left = span.end.saturating_duration_since(Instant::now());
            sleep(pause.min(left)).await;
        }
    }
}

/// Makes a call, counts it, and returns the pause after it.
async fn once<C: Caller>(caller: &mut C, intended: Option<Instant>, tally: &Tally) -> Duration {
    let mut request = caller.next();
    let pause = caller.pause(&request);
    let began = Instant::now();
    let answered = caller.call(&mut request).await;
    let ended = Instant::now();
    // The check of an answer is not part of the call, so it runs after the clock has stopped.
    let outcome = answered.and_then(|answer| caller.judge(&request, answer));
    let failed = outcome.is_err();
    tally.add(Called {
        intended,
        began,
        ended,
        outcome,
        pause,
    });
    if failed {
        sleep(AFTER_FAILURE).await;
    }
    // A call that never waits would starve the other callers on this thread.
    tokio::task::coop::consume_budget().await;
    pause
}

/// Prints a progress line from time to time, until it is dropped.
async fn print_progress(
    begun: Instant,
    length: Duration,
    tally: &Tally,
) -> std::convert::Infallible {
    let total = length.as_secs();
    loop {
        sleep(PROGRESS_EVERY).await;
        let passed = begun.elapsed().as_secs();
        eprintln!("  {passed} of {total} s: {}", tally.line());
    }
}
