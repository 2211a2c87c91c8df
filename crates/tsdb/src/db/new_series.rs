use std::time::{Duration, Instant};

use crate::sync::Mutex;
use crate::{Error, NewSeriesLimit};

/// Counts the series that begin in an interval.
pub(super) struct NewSeries(Mutex<Interval>);

#[derive(Debug)]
struct Interval {
    /// `None` before the first series.
    begun: Option<Instant>,
    series: usize,
}

impl Default for NewSeries {
    fn default() -> Self {
        Self(Mutex::new(Interval {
            begun: None,
            series: 0,
        }))
    }
}

impl NewSeries {
    /// Counts a new series, or refuses it at the limit.
    pub(super) fn count(&self, limit: NewSeriesLimit) -> Result<(), Error> {
        let NewSeriesLimit { max, interval } = limit;
        let mut current = self.0.lock();
        let passed = current.begun.map(|begun| begun.elapsed());
        let passed = match passed {
            Some(passed) if passed < interval => passed,
            _ => {
                *current = Interval {
                    begun: Some(Instant::now()),
                    series: 0,
                };
                Duration::ZERO
            }
        };
        if current.series >= max {
            return Err(Error::TooManyNewSeries {
                max,
                interval,
                retry_after: interval - passed,
            });
        }
        current.series += 1;
        Ok(())
    }
}
