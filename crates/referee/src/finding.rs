//! The findings.

use uuid::Uuid;

/// A thing that a right store can't do, with the positions that show it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// An append was accepted although its condition was false at its position.
    #[error(
        "the append at {position} was accepted, but {violating} after {after} matches its condition"
    )]
    Accepted {
        /// The position of its first event.
        position: u64,
        /// The first event that violates the condition.
        violating: u64,
        /// The `after` of the condition.
        after: u64,
    },
    /// An append was refused although nothing matched its condition.
    #[error(
        "caller {caller}'s append that ended at tick {ended} was refused, but nothing after {after} matched"
    )]
    Refused {
        /// The caller.
        caller: usize,
        /// When the append ended.
        ended: u64,
        /// The `after` of the condition.
        after: u64,
    },
    /// An acknowledged event is not at its position.
    #[error("{id} was acknowledged at {position}, and is not there")]
    Lost {
        /// The event.
        id: Uuid,
        /// The position that follows from the answer.
        position: u64,
    },
    /// An event is in the log twice.
    #[error("{id} is at {first} and at {second}")]
    Twice {
        /// The event.
        id: Uuid,
        /// Its first position.
        first: u64,
        /// Its second position.
        second: u64,
    },
    /// No append had this event, or its append was refused.
    #[error("the event at {position} was not asked for")]
    Unasked {
        /// Its position.
        position: u64,
    },
    /// Only a part of an append is in the log, or another's event is between its events.
    #[error("the append of {id} is not whole in the log")]
    Torn {
        /// Its first event.
        id: Uuid,
    },
    /// An append that ended before another began has the greater position.
    #[error("the append at {later} ended before the one at {earlier} began")]
    OutOfOrder {
        /// The smaller position.
        earlier: u64,
        /// The greater position.
        later: u64,
    },
    /// Positions have a gap.
    #[error("after {after} comes {next}")]
    Gap {
        /// The last position before the gap.
        after: u64,
        /// The first position after it.
        next: u64,
    },
    /// A read missed an event up to its head, or found one that did not match.
    #[error("a read up to {head} that ended at tick {ended} is wrong about {position}")]
    Misread {
        /// When the read ended.
        ended: u64,
        /// The head that it returned.
        head: u64,
        /// The first event that it missed or should not have found.
        position: u64,
    },
    /// A read did not see an append that was acknowledged before it began.
    #[error(
        "a read that began at tick {begun} saw the log up to {head}, but {acknowledged} was acknowledged before"
    )]
    Stale {
        /// When the read began.
        begun: u64,
        /// The head that it returned.
        head: u64,
        /// The acknowledged position.
        acknowledged: u64,
    },
    /// A follower missed an event.
    #[error("follower {follower} skipped {position}")]
    Skipped {
        /// The follower.
        follower: usize,
        /// The event that it missed.
        position: u64,
    },
    /// A follower got an event again, or an older one.
    #[error("follower {follower} went from {from} back to {to}")]
    WentBack {
        /// The follower.
        follower: usize,
        /// The position before.
        from: u64,
        /// The position that it got then.
        to: u64,
    },
}

impl Finding {
    /// The name of its kind, as the README lists it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "Accepted",
            Self::Refused { .. } => "Refused",
            Self::Lost { .. } => "Lost",
            Self::Twice { .. } => "Twice",
            Self::Unasked { .. } => "Unasked",
            Self::Torn { .. } => "Torn",
            Self::OutOfOrder { .. } => "OutOfOrder",
            Self::Gap { .. } => "Gap",
            Self::Misread { .. } => "Misread",
            Self::Stale { .. } => "Stale",
            Self::Skipped { .. } => "Skipped",
            Self::WentBack { .. } => "WentBack",
        }
    }
}
