//! How long the task that commits yields to other tasks before it takes a batch.
//!
//! It yields only if callers have recently arrived together, and stops once the callers of the last
//! batch have submitted again. It does not yield for a lone caller, because one yield costs about
//! 10 us.

/// The yields that are left.
#[derive(Clone, Copy)]
pub(crate) struct FillWait {
    /// How many more times the task yields.
    yields_left: u32,
    /// The task stops yielding once this many requests wait. `None` if it expects no particular
    /// number.
    expected: Option<usize>,
    /// The most requests seen waiting. A larger number restores `yields_left`, because more callers
    /// may be on their way.
    seen: usize,
}

impl FillWait {
    pub(crate) const NONE: Self = Self {
        yields_left: 0,
        expected: None,
        seen: usize::MAX,
    };

    /// The wait before the first batch, which holds one request already. Other callers may be about
    /// to arrive.
    pub(crate) const fn first(yields: u32) -> Self {
        Self {
            yields_left: yields,
            expected: None,
            seen: 1,
        }
    }

    /// The wait after a batch with this many callers, who may submit again. `waiting` requests have
    /// arrived in the meantime.
    pub(crate) fn after_batch(yields: u32, callers: usize, waiting: usize) -> Self {
        // The batch had a lone caller and the queue is empty, so yielding would only cost time.
        if callers == 1 && waiting == 0 {
            return Self::NONE;
        }
        Self {
            // One extra yield, because the deferred wake-ups run only after the first yield.
            yields_left: yields.saturating_add(1),
            expected: Some(callers + waiting),
            seen: waiting,
        }
    }

    pub(crate) const fn is_none(self) -> bool {
        self.yields_left == 0
    }

    /// The wait that is left after one more yield, when `waiting` requests are queued. `None` if the
    /// task must stop yielding.
    pub(crate) fn after_yield(self, waiting: usize, yields: u32) -> Option<Self> {
        if self.expected.is_some_and(|expected| waiting >= expected) {
            return None;
        }
        let yields_left = if waiting > self.seen {
            yields
        } else {
            self.yields_left.checked_sub(1)?
        };
        Some(Self {
            yields_left,
            seen: self.seen.max(waiting),
            ..self
        })
    }
}
