use crate::error::Error;
use crate::row::Pace;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The time per row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Its name in `BENCH_PROFILE`.
    pub name: String,
    /// The time before the first sample, in which plans, pools and caches become warm.
    pub warm_up: Duration,
    /// The time for all samples of a row, including its floors and untimed steps.
    pub measurement: Duration,
    /// Samples per row; Criterion requires at least 10.
    pub samples: usize,
    /// The maximum time of the allocation pass.
    pub allocation_time: Duration,
    /// The maximum number of ops of the allocation pass.
    pub allocation_ops: u64,
    /// True if a run of this profile may write pages.
    pub fills_pages: bool,
}

impl Profile {
    /// About a second per row. The default.
    pub fn quick() -> Self {
        Self {
            name: "quick".to_owned(),
            warm_up: Duration::from_millis(150),
            // 20 samples of 30 ms: each has room for a turn of the row and of two floors.
            measurement: Duration::from_millis(600),
            samples: 20,
            allocation_time: Duration::from_millis(50),
            allocation_ops: 200,
            fills_pages: true,
        }
    }

    /// About 12 s per row, for narrow intervals. Targets add the large dataset.
    pub fn full() -> Self {
        Self {
            name: "full".to_owned(),
            warm_up: Duration::from_secs(2),
            measurement: Duration::from_secs(10),
            samples: 50,
            allocation_time: Duration::from_millis(500),
            allocation_ops: 1_000,
            fills_pages: true,
        }
    }

    /// Ten samples of one op per row, to check that every row runs. Targets use their smallest
    /// data.
    pub fn smoke() -> Self {
        Self {
            name: "smoke".to_owned(),
            warm_up: Duration::from_nanos(1),
            measurement: Duration::from_nanos(1),
            samples: 10,
            allocation_time: Duration::ZERO,
            allocation_ops: 1,
            fills_pages: false,
        }
    }

    /// The profile that `BENCH_PROFILE` names; [`quick`](Self::quick) if it is not set.
    ///
    /// # Errors
    /// [`Error::UnknownProfile`].
    pub fn from_env() -> Result<Self, Error> {
        match std::env::var("BENCH_PROFILE").as_deref() {
            Err(_) | Ok("quick") => Ok(Self::quick()),
            Ok("full") => Ok(Self::full()),
            Ok("smoke") => Ok(Self::smoke()),
            Ok(name) => Err(Error::UnknownProfile {
                name: name.to_owned(),
            }),
        }
    }

    /// The number of samples of a row. In a quick run, a row with long ops takes only 10, the
    /// fewest that Criterion accepts.
    pub(crate) fn samples_of(&self, pace: Pace) -> usize {
        match pace {
            Pace::LongOps if self.is_quick() => self.samples.min(10),
            _ => self.samples,
        }
    }

    /// The measurement time of a row. In a quick run, a steady row gets two thirds of it. Each of
    /// its samples still has room for a turn of the row and one of a floor.
    pub(crate) fn measurement_of(&self, pace: Pace) -> Duration {
        match pace {
            Pace::Steady if self.is_quick() => self.measurement * 2 / 3,
            _ => self.measurement,
        }
    }

    /// The profile in words, for the head of a page.
    pub(crate) fn text(&self) -> String {
        // A saved run of an older version may have a quick profile without these exceptions.
        let exceptions = match *self == Self::quick() {
            true => {
                "; two thirds of the time for rows that only use the processor, and 10 samples if an \
                 op takes about a second"
            }
            false => "",
        };
        format!(
            "{}: warm-up {} s, then {} samples over {} s for each row and its floors{exceptions}",
            self.name,
            self.warm_up.as_secs_f64(),
            self.samples,
            self.measurement.as_secs_f64()
        )
    }

    fn is_quick(&self) -> bool {
        self.name == "quick"
    }

    /// True for [`smoke`](Self::smoke): use the smallest data that still runs the row.
    pub fn is_smoke(&self) -> bool {
        self.name == "smoke"
    }

    /// True for [`full`](Self::full): add the large dataset.
    pub fn is_full(&self) -> bool {
        self.name == "full"
    }
}
