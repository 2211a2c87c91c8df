//! The series that rows write and read. They are the same in every run.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tsdb::{Labels, Sample};

/// The seed of all random values.
const SEED: u64 = 42;
/// The time between two samples of a series.
pub(crate) const STEP_MS: i64 = 10_000;
/// The first sample's time.
pub(crate) const START_MS: i64 = 1_700_000_000_000;
pub(crate) const MILLION: usize = 1_000_000;
/// The dataset of rows that write or read one series.
pub(crate) const ONE_SERIES: &str = "1 series";

/// The dataset of rows that use this many series, one or whole thousands.
pub(crate) fn series_text(series: usize) -> String {
    match series / 1_000 {
        0 => ONE_SERIES.to_owned(),
        thousands => format!("{thousands},000 series"),
    }
}

/// The kind of values in a series.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A random walk whose steps have two decimals and are uniform in [-1.00, 1.00]. Each step is
    /// one of 201 values, so it carries 0.956 bytes of information.
    DecimalWalk,
    /// Whole numbers that grow by up to 100.
    Counter,
    Constant,
    /// Uniform in [0, 1). Each value carries 6.5 random bytes.
    RandomDoubles,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [
        Self::DecimalWalk,
        Self::Counter,
        Self::Constant,
        Self::RandomDoubles,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DecimalWalk => "decimal walk",
            Self::Counter => "counter",
            Self::Constant => "constant",
            Self::RandomDoubles => "random doubles",
        }
    }

    /// `count` samples, [`STEP_MS`] apart.
    pub(crate) fn samples(self, count: usize) -> Vec<Sample> {
        let mut random = StdRng::seed_from_u64(SEED);
        let mut state = 10_000i64;
        let mut value = || match self {
            Self::DecimalWalk => {
                state += random.random_range(-100..=100);
                state as f64 / 100.0
            }
            Self::Counter => {
                state += random.random_range(0..=100);
                state as f64
            }
            Self::Constant => 21.5,
            Self::RandomDoubles => random.random(),
        };
        let times = (0..count as i64).map(|index| START_MS + index * STEP_MS);
        times.map(|at| Sample::new(at, value())).collect()
    }
}

/// The labels of series `number`: a unique `host`, and a `job` that every twentieth series shares.
pub(crate) fn labels(number: usize) -> Result<Labels, tsdb::Error> {
    let labels = [
        ("dc", format!("dc-{}", number % 4)),
        ("host", format!("host-{number:05}")),
        ("job", format!("job-{:02}", number % 20)),
    ];
    Ok(Labels::new("cpu_usage", labels)?)
}
