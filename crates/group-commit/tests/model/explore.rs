//! Runs one model under many schedules.

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, Runner};

const SEED: u64 = 0x6772_6f75_7020_636f;
/// One interleaving takes about 50 us, so the default effort takes a second per model.
const INTERLEAVINGS_PER_EFFORT: usize = 20;
/// How often the second scheduler preempts the task with the highest priority.
const PREEMPTIONS: usize = 4;

/// Explores `model` with random schedules, and with schedules that run one task for a long time. The
/// latter reach orders that random schedules almost never reach.
pub(crate) fn explore(model: fn()) {
    let iterations = iterations();
    println!("seed {SEED}, {iterations} interleavings per scheduler");
    let random = RandomScheduler::new_from_seed(SEED, iterations);
    Runner::new(random, Config::new()).run(model);
    let pct = PctScheduler::new_from_seed(SEED, PREEMPTIONS, iterations);
    Runner::new(pct, Config::new()).run(model);
}

fn iterations() -> usize {
    let effort = std::env::var("REGISTRAR_EFFORT").map_or(200, |effort| {
        effort
            .parse()
            .unwrap_or_else(|_| panic!("REGISTRAR_EFFORT={effort} is not a number"))
    });
    INTERLEAVINGS_PER_EFFORT * effort
}
