use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long each row is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// As `BENCH_PROFILE` names it.
    pub name: String,
    /// Running before the first sample, so that plans, pools and caches are warm.
    pub warm_up: Duration,
    /// Over all samples of a row, its floors' ops and what runs untimed between them included.
    pub measurement: Duration,
    /// Samples of a row; Criterion wants 10 at least.
    pub samples: usize,
    /// Most time and most ops of the allocation pass.
    pub allocation_time: Duration,
    /// See `allocation_time`.
    pub allocation_ops: u64,
    /// Whether a run of this profile may fill pages.
    pub fills_pages: bool,
}

impl Profile {
    /// About 1.5 s a row; what `cargo bench` does when nothing is asked for.
    pub fn quick() -> Self {
        Self {
            name: "quick".to_owned(),
            warm_up: Duration::from_millis(250),
            measurement: Duration::from_millis(1_000),
            samples: 20,
            allocation_time: Duration::from_millis(100),
            allocation_ops: 200,
            fills_pages: true,
        }
    }

    /// About 12 s a row: narrow intervals; targets add the large dataset.
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

    /// Ten samples of one op a row, to see that every row runs; targets use their smallest data.
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

    /// The profile that `BENCH_PROFILE` names, [`quick`](Self::quick) where it is not set.
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

    /// True for [`smoke`](Self::smoke): use the smallest data that still runs the row.
    pub fn is_smoke(&self) -> bool {
        self.name == "smoke"
    }

    /// True for [`full`](Self::full): add the large dataset.
    pub fn is_full(&self) -> bool {
        self.name == "full"
    }
}
