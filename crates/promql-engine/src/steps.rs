/// The times at which an expression is evaluated: `count` of them, `step` ms apart. With a step of
/// 0 all times are the same, as the `@` modifier requires.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    start: i64,
    step: i64,
    count: usize,
}

impl Steps {
    /// One time.
    pub(super) fn instant(time: i64) -> Self {
        Self {
            start: time,
            step: 0,
            count: 1,
        }
    }

    /// The times from `start` to `end`. `end` is included if a step falls on it. If there are more
    /// than `max` times, the error is their number.
    pub(super) fn between(start: i64, end: i64, step: i64, max: u64) -> Result<Self, u64> {
        // A sub-query whose first aligned step is past its end has no steps.
        if end < start {
            return Ok(Self {
                start,
                step,
                count: 0,
            });
        }
        let count = (end.abs_diff(start) / step.unsigned_abs()).saturating_add(1);
        if count > max {
            return Err(count);
        }
        Ok(Self {
            start,
            step,
            count: count as usize,
        })
    }

    /// The same number of steps, all at one time.
    pub(super) fn pinned_to(self, time: i64) -> Self {
        Self {
            start: time,
            step: 0,
            ..self
        }
    }

    /// The steps, each `offset` ms earlier.
    pub(super) fn earlier_by(self, offset: i64) -> Self {
        Self {
            start: self.start.saturating_sub(offset),
            ..self
        }
    }

    /// Whether ranges of this width that end at the steps have times in common.
    pub(super) fn overlap(&self, range_ms: i64) -> bool {
        self.count > 1 && range_ms > self.step
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The time of a step, clamped to the range of `i64`.
    pub(super) fn time(&self, index: usize) -> i64 {
        let offset = self.step.checked_mul(index as i64);
        let time = offset.and_then(|offset| self.start.checked_add(offset));
        time.unwrap_or_else(|| {
            // Near the ends of time, the product can exceed 64 bits.
            let exact = i128::from(self.start) + i128::from(self.step) * index as i128;
            exact.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
        })
    }

    /// The first time.
    pub(super) fn first(&self) -> i64 {
        self.start
    }

    /// The last time.
    pub(super) fn last(&self) -> i64 {
        self.time(self.count.saturating_sub(1))
    }

    /// All times in order.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> + use<> {
        let steps = *self;
        (0..steps.count).map(move |index| steps.time(index))
    }
}
