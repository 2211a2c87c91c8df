use super::ramp::Ramp;
use crate::profile::Profile;
use crate::report::number::whole;
use std::time::Duration;

/// The times at which callers make their calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Each caller makes its next call when the last one is answered. The service determines the
    /// rate.
    Closed {
        /// Concurrent callers.
        callers: usize,
        /// The time before calls count.
        warm_up: Duration,
        /// The time during which calls count.
        time: Duration,
    },
    /// Calls are due at a fixed rate. Any free caller makes the next one.
    Open {
        /// The rate.
        per_second: f64,
        /// Callers that share the calls.
        callers: usize,
        /// The time during which calls fall due. Afterwards callers have the same time once more to
        /// make the calls that are late.
        time: Duration,
    },
    /// Users come and go. Each makes a call, waits for the answer, then pauses for the time that
    /// the call sets.
    Users(Ramp),
}

impl Schedule {
    /// A closed schedule that runs for so long that a store has to write back what it deferred, such as the
    /// checkpoints of a write-ahead log: 15 s in the full profile, 3 s in a quick run.
    pub fn sustained(profile: &Profile, callers: usize) -> Self {
        let [warm_up, time] = if profile.is_smoke() {
            [0.05, 0.2]
        } else if profile.is_full() {
            [1.0, 15.0]
        } else {
            [0.25, 3.0]
        };
        Self::Closed {
            callers,
            warm_up: Duration::from_secs_f64(warm_up),
            time: Duration::from_secs_f64(time),
        }
    }

    /// The number of callers that it needs.
    pub fn callers(&self) -> usize {
        match self {
            Self::Closed { callers, .. } | Self::Open { callers, .. } => *callers,
            Self::Users(ramp) => ramp.most_users(),
        }
    }

    /// The time during which calls are made.
    pub fn length(&self) -> Duration {
        match self {
            Self::Closed { warm_up, time, .. } => *warm_up + *time,
            Self::Open { time, .. } => *time,
            Self::Users(ramp) => ramp.length(),
        }
    }

    /// The number of turns into which it can be divided, if it takes turns with others.
    pub(crate) fn turns(&self) -> u32 {
        match self {
            Self::Closed { .. } => 5,
            // A ramp, and calls that are late, would not be the same in parts.
            Self::Open { .. } | Self::Users(_) => 1,
        }
    }

    /// The time before calls count, and the time during which they do, in each of this many turns.
    pub(super) fn turn(&self, turns: u32) -> [Duration; 2] {
        match self {
            Self::Closed { warm_up, time, .. } => [*warm_up / turns, *time / turns],
            Self::Open { time, .. } => [Duration::ZERO, *time],
            Self::Users(ramp) => [Duration::ZERO, ramp.length()],
        }
    }

    /// The schedule in words.
    pub fn text(&self) -> String {
        let seconds = self.length().as_secs_f64();
        match self {
            Self::Closed { callers, .. } => {
                format!(
                    "{callers} callers, each of them makes its next call when the last one is answered"
                )
            }
            Self::Open {
                per_second,
                callers,
                ..
            } => format!(
                "{} calls/s fall due for {seconds} s, made by {callers} callers",
                whole(*per_second)
            ),
            Self::Users(ramp) => format!(
                "up to {} users over {seconds} s, each with a pause after every answer",
                ramp.most_users()
            ),
        }
    }
}
