use super::Bench;
use crate::error::BoxError;
use crate::op::{Expect, Observed, Op, Pass, Running, Shape};
use crate::row::Row;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Shorter ops are timed in blocks of at least this length, so that reading the clock costs less
/// than a percent. Ops of several threads need longer blocks, because releasing the threads takes
/// time.
const SHORTEST_TIMED_NS: f64 = 5_000.0;
const SHORTEST_TIMED_NS_THREADS: f64 = 2_000_000.0;
/// The minimum length of a side's turn, unless the whole sample is shorter. During a long turn the
/// caches of the processor and the server hold the data of the side's own ops, not the data of the
/// other sides.
const SHORTEST_TURN_NS: f64 = 10_000_000.0;

/// A row and its floors after their set-up. They take turns, so that a machine that slows down for
/// a while slows down all of them.
pub(super) struct Contest {
    /// The row, then its floors.
    sides: Vec<Side>,
    blocking: bool,
    shortest_timed_ns: f64,
    /// Ops in a block.
    block: u64,
    /// Ops of the row in a turn.
    turn: u64,
    /// Rounds of turns so far.
    rounds: usize,
}

struct Side {
    running: Box<dyn Running>,
    next_op: u64,
    /// The number of its ops for each op of the row, at most 1. A side that is slower than the row
    /// runs fewer ops in the same time.
    share: f64,
}

impl Side {
    /// The number of its ops in a turn, when the row runs `turn` ops.
    fn ops_of(&self, turn: u64) -> u64 {
        ((turn as f64 * self.share).round() as u64).max(1)
    }
}

/// One sample of a row and its floors.
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
            // The row's set-up runs first, because floors that read use the log that it makes.
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

    /// Runs `ops` ops of the row. Each floor runs as many ops as take the same time, but at most
    /// `ops`.
    pub(super) fn run(
        self,
        bench: &Bench<'_>,
        ops: u64,
        pass: Pass,
    ) -> Result<(Self, Sample), BoxError> {
        let blocking = self.blocking;
        let (mut contest, sample) = drive(bench, blocking, self.take_turns(ops, pass))?;
        // Counting slows the ops down, so the times of the allocation pass say nothing about turns.
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
            // At least 0.1 ns, because an op that the compiler removed takes no time, and the ratio
            // must stay finite.
            side.share = (row_ns / seen.ns_per_op().max(0.1)).min(1.0);
        }
        let ops = |least_ns: f64| ((least_ns / row_ns).ceil() as u64).max(1);
        // If one side times single ops, all sides must. Otherwise only that side would pay for
        // reading the clock at every op.
        if self.sides.iter().all(|side| side.running.runs_in_blocks()) {
            self.block = ops(self.shortest_timed_ns);
        }
        // A turn must not end in the middle of a block.
        self.turn = ops(SHORTEST_TURN_NS).max(self.block);
    }
}

/// The order of the sides in a round: rotated by one from round to round, and mirrored after each
/// full rotation. The first op of a turn pays for the state that the previous turn left behind, so
/// no side may always follow the same other side. Among three sides, each side follows each of the
/// others equally often.
pub(super) fn order(sides: usize, round: usize) -> impl Iterator<Item = usize> {
    let is_mirrored = (round / sides) % 2 == 1;
    (0..sides).map(move |turn| {
        let side = (round + turn) % sides;
        if is_mirrored { sides - 1 - side } else { side }
    })
}

/// Runs asynchronous work as one task on a worker thread, like a server does. On the main thread
/// every wake-up would cross threads. Blocking work runs on the calling thread, because blocking
/// stores must not be called inside a runtime.
fn drive<T: Send + 'static>(
    bench: &Bench<'_>,
    blocking: bool,
    work: impl Future<Output = Result<T, BoxError>> + Send + 'static,
) -> Result<T, BoxError> {
    if blocking {
        bench.interrupt.check()?;
        let mut work = pin!(work);
        // A blocking op never returns `Pending`, so one poll runs it to its end.
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
