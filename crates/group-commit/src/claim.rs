use std::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// Decides whether a request in a batch is still written once its caller's deadline passes.
///
/// A committer may wait long before it can write, such as for a lock. The committer and the caller
/// share a claim: the committer calls [`begin`](Self::begin) right before it writes, and a caller
/// that got [`SubmitError::OutcomeUnknown`](crate::SubmitError::OutcomeUnknown) calls
/// [`withdraw`](Self::withdraw). Only one of them succeeds.
///
/// ```
/// let claim = group_commit::Claim::default();
/// assert!(claim.withdraw());
/// assert!(!claim.begin(), "the caller was told that nothing is written");
/// ```
#[derive(Debug, Default)]
pub struct Claim(AtomicU8);

impl Claim {
    /// Claims the request for the committer. False if its caller has withdrawn it, so that it must
    /// not be written. True again if the same request is committed a second time.
    pub fn begin(&self) -> bool {
        self.settle(BEGUN)
    }

    /// Withdraws the request for its caller. False if its commit has begun, so that the request may
    /// have been written.
    pub fn withdraw(&self) -> bool {
        self.settle(WITHDRAWN)
    }

    fn settle(&self, state: u8) -> bool {
        let settled = self
            .0
            .compare_exchange(OPEN, state, Ordering::AcqRel, Ordering::Acquire);
        settled.map_or_else(|found| found == state, |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_of_caller_and_committer_decides() {
        let begun = Claim::default();
        assert!(begun.begin());
        assert!(!begun.withdraw());
        assert!(
            begun.begin(),
            "a part of a refused batch is committed again"
        );
        let withdrawn = Claim::default();
        assert!(withdrawn.withdraw());
        assert!(!withdrawn.begin());
    }
}
