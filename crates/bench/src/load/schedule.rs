use super::ramp::Ramp;
use crate::report::number::whole;
use std::time::Duration;

/// Who calls when.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Each caller makes its next call when the last is answered: the rate is what the service can
    /// do for so many at once.
    Closed {
        /// Callers at once.
        callers: usize,
        /// Before the time that counts.
        warm_up: Duration,
        /// How long.
        time: Duration,
    },
    /// Calls are due at a fixed rate; whichever caller is free makes the next.
    Open {
        /// The rate.
        per_second: f64,
        /// Callers that share the calls.
        callers: usize,
        /// How long calls fall due; those left over are made after it, for as long again.
        time: Duration,
    },
    /// Users come and go; each makes a call, waits for the answer, then pauses as its call says.
    Users(Ramp),
}

impl Schedule {
    /// Callers that are needed.
    pub fn callers(&self) -> usize {
        match self {
            Self::Closed { callers, .. } | Self::Open { callers, .. } => *callers,
            Self::Users(ramp) => ramp.most_users(),
        }
    }

    /// How long calls are made.
    pub fn length(&self) -> Duration {
        match self {
            Self::Closed { warm_up, time, .. } => *warm_up + *time,
            Self::Open { time, .. } => *time,
            Self::Users(ramp) => ramp.length(),
        }
    }

    /// What it is, in words.
    pub fn text(&self) -> String {
        let seconds = self.length().as_secs_f64();
        match self {
            Self::Closed { callers, .. } => {
                format!("{callers} callers, each the next call when the last is answered")
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
