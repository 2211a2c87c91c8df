use super::Bench;
use crate::error::BoxError;
use crate::op::{Observed, Op, Pass, Running, Shape};
use crate::row::{Expect, Row};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Ops shorter than this are timed together, several callers' longer, so that the clock and the
/// release of waiting threads stay below a percent.
const SHORTEST_TIMED_NS: f64 = 5_000.0;
const SHORTEST_TIMED_NS_THREADS: f64 = 2_000_000.0;
/// A side goes on for so long, or for a whole sample, before the next has its turn: it is to find the
/// caches of the processor and of the server as its own ops leave them, not as those of its floors do.
const SHORTEST_TURN_NS: f64 = 10_000_000.0;

/// A row and its floors after their set-up; they take turns, so that whatever slows the machine
/// for a while slows all of them.
pub(super) struct Contest {
    /// The row, then its floors.
    sides: Vec<Side>,
    blocking: bool,
    shortest_timed_ns: f64,
    /// Ops that are timed together.
    block: u64,
    /// Ops of a turn.
    turn: u64,
    /// Rounds of turns so far.
    rounds: usize,
}

struct Side {
    running: Box<dyn Running>,
    next_op: u64,
    /// Its ops for each of the row's, at most one: what is slower gets as much time, not as many ops.
    share: f64,
}

impl Side {
    /// Its part of a turn that has so many ops of the row.
    fn ops_of(&self, turn: u64) -> u64 {
        ((turn as f64 * self.share).round() as u64).max(1)
    }
}

/// What one sample saw of the row and of its floors.
pub(super) struct Sample {
    /// The row, then its floors.
    pub(super) sides: Vec<Observed>,
    pub(super) ops_per_latency: u64,
}

impl Sample {
    pub(super) fn row(&self) -> &Observed {
        &self.sides[0]
    }
}

impl Contest {
    pub(super) fn start(bench: &Bench<'_>, row: &Row, op: &Op) -> Result<Self, BoxError> {
        let shape = Shape {
            concurrency: row.declared.concurrency,
            expect: row.expect,
        };
        let mut starting = vec![op.start(shape)];
        let mut most_callers = shape.concurrency;
        for floor in &row.floors {
            most_callers = most_callers.max(floor.concurrency);
            let shape = Shape {
                concurrency: floor.concurrency,
                expect: Expect::AllSucceed,
            };
            starting.push(floor.op.start(shape));
        }
        let set_up = async move {
            let mut sides = Vec::with_capacity(starting.len());
            for side in starting {
                sides.push(Side {
                    running: side.await?,
                    next_op: 0,
                    share: 1.0,
                });
            }
            Ok(sides)
        };
        let blocking = op.is_blocking();
        let shortest_timed_ns = if most_callers > 1 {
            SHORTEST_TIMED_NS_THREADS
        } else {
            SHORTEST_TIMED_NS
        };
        let sides = drive(bench, blocking, set_up)?;
        Ok(Self {
            sides,
            blocking,
            shortest_timed_ns,
            block: 1,
            turn: 1,
            rounds: 0,
        })
    }

    /// Runs `ops` ops of the row, and as many of each floor as it has time for meanwhile.
    pub(super) fn run(
        self,
        bench: &Bench<'_>,
        ops: u64,
        pass: Pass,
    ) -> Result<(Self, Sample), BoxError> {
        let blocking = self.blocking;
        let (mut contest, sample) = drive(bench, blocking, self.take_turns(ops, pass))?;
        if pass == Pass::Timing {
            contest.fit(&sample);
        }
        Ok((contest, sample))
    }

    async fn take_turns(mut self, ops: u64, pass: Pass) -> Result<(Self, Sample), BoxError> {
        let mut seen = vec![Observed::default(); self.sides.len()];
        let mut left = ops;
        while left > 0 {
            let turn = self.turn.min(left);
            for side in order(self.sides.len(), self.rounds) {
                let (side, seen) = (&mut self.sides[side], &mut seen[side]);
                let end = side.next_op + side.ops_of(turn);
                while side.next_op < end {
                    let block = self.block.min(end - side.next_op);
                    seen.add(side.running.run(side.next_op, block, pass).await?);
                    side.next_op += block;
                }
            }
            self.rounds += 1;
            left -= turn;
        }
        let ops_per_latency = self.block.min(ops);
        Ok((
            self,
            Sample {
                sides: seen,
                ops_per_latency,
            },
        ))
    }

    fn fit(&mut self, sample: &Sample) {
        let row_ns = sample.row().ns_per_op().max(0.1);
        for (side, seen) in self.sides.iter_mut().zip(&sample.sides) {
            side.share = (row_ns / seen.ns_per_op().max(0.1)).min(1.0);
        }
        let ops = |least_ns: f64| ((least_ns / row_ns).ceil() as u64).max(1);
        if self.sides.iter().all(|side| side.running.runs_in_blocks()) {
            self.block = ops(self.shortest_timed_ns);
        }
        self.turn = ops(SHORTEST_TURN_NS).max(self.block);
    }
}

/// The order of the sides in a round: rotated from one to the next, mirrored every other time round.
/// The first op of a turn pays for what the turn before it left behind, so that no side is to follow
/// the same one always: of three, each follows each as often.
fn order(sides: usize, round: usize) -> impl Iterator<Item = usize> {
    let is_mirrored = (round / sides) % 2 == 1;
    (0..sides).map(move |place| {
        let side = (round + place) % sides;
        if is_mirrored { sides - 1 - side } else { side }
    })
}

/// Asynchronous work runs as one task on a worker thread, where a server's would run: from the
/// main thread every wake-up would cross threads. Blocking work runs here, outside the runtime,
/// which a blocking store may not be called from.
fn drive<T: Send + 'static>(
    bench: &Bench<'_>,
    blocking: bool,
    work: impl Future<Output = Result<T, BoxError>> + Send + 'static,
) -> Result<T, BoxError> {
    if blocking {
        bench.interrupt.check()?;
        let mut work = pin!(work);
        return match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => done,
            Poll::Pending => Err("a blocking op awaited something".into()),
        };
    }
    bench.runtime.block_on(async {
        let mut task = tokio::spawn(work);
        tokio::select! {
            done = &mut task => done?,
            stopped = bench.interrupt.wait() => {
                task.abort();
                Err(stopped)
            }
        }
    })
}
