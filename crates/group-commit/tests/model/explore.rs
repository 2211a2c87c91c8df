//! Runs one model under many schedules.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

const SEED: u64 = 0x6772_6f75_7020_636f;
/// One interleaving takes about 50 us, so a model takes less than a second at the usual effort.
const INTERLEAVINGS: usize = 4_000;
/// Limits the preemptions in one run of the second scheduler.
const PREEMPTIONS: usize = 4;

/// Runs `model` under two schedulers. The first switches between tasks at random. The second (PCT)
/// runs one task until it blocks, with few exceptions, and so reaches orders that random switches
/// almost never reach.
pub(crate) fn explore(model: fn()) {
    let iterations = conformance_suite::effort(INTERLEAVINGS);
    println!("seed {SEED}, {iterations} interleavings per scheduler");
    let random = RandomScheduler::new_from_seed(SEED, iterations);
    Runner::new(random, Config::new()).run(model);
    let pct = PctScheduler::new_from_seed(SEED, PREEMPTIONS, iterations);
    Runner::new(pct, Config::new()).run(model);
}
