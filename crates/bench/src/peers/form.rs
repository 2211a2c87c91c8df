//! How large a run is.

use super::roster::Ground;
use peer_protocol::ContentSize;
use serde::{Deserialize, Serialize};

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
pub enum Form {
    /// One round of a tenth of a second on a small log: shows that every peer runs. Under a minute.
    Smoke,
    /// The form of the committed page: 61,000 events, five rounds.
    Quick,
    /// A million events, and longer rounds.
    Full,
}

impl Form {
    /// Events, messages or series that each store holds before it is measured.
    pub fn content(self) -> ContentSize {
        ContentSize {
            events: match self {
                Self::Smoke => 4_000,
                Self::Quick => 61_000,
                Self::Full => 1_000_000,
            },
            payload_bytes: 100,
            seed: 1,
        }
    }

    /// The content of a store in the row with limited memory. In the smallest form it is small enough to fit.
    pub(super) fn scarce_content(self) -> ContentSize {
        ContentSize {
            events: match self {
                Self::Smoke => 4_000,
                Self::Quick | Self::Full => 1_000_000,
            },
            ..self.content()
        }
    }

    /// Sizes of the logs on which our stores show how they grow, the smallest first.
    pub(super) fn sizes(self, ground: Ground) -> &'static [usize] {
        match (self, ground) {
            (Self::Smoke, _) => &[4_000, 8_000],
            (Self::Quick, Ground::Messages) => &[10_000, 1_000_000],
            (Self::Quick, Ground::Series) => &[1_000, 100_000],
            (Self::Quick, _) => &[61_000, 1_000_000],
            (Self::Full, Ground::Messages) => &[10_000, 1_000_000, 10_000_000],
            (Self::Full, Ground::Series) => &[1_000, 100_000, 1_000_000],
            (Self::Full, _) => &[61_000, 1_000_000, 10_000_000],
        }
    }

    /// Turns of each peer in a row.
    pub fn rounds(self) -> usize {
        match self {
            Self::Smoke => 1,
            Self::Quick | Self::Full => 5,
        }
    }

    /// For how long the callers of one turn begin calls.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Smoke => 0.1,
            Self::Quick => 0.25,
            Self::Full => 2.0,
        }
    }

    /// For how long a sustained turn lasts: long enough for a checkpoint of PostgreSQL's default
    /// settings.
    pub fn sustained_seconds(self) -> f64 {
        match self {
            Self::Smoke => 1.2,
            Self::Quick => 15.0,
            Self::Full => 60.0,
        }
    }

    /// Races of each store of events.
    pub(super) fn races(self) -> u64 {
        match self {
            Self::Smoke => 1,
            Self::Quick => 5,
            Self::Full => 50,
        }
    }

    /// The form in words.
    pub fn text(self) -> String {
        let events = crate::report::number::whole(self.content().events as f64);
        let (rounds, seconds) = (self.rounds(), self.seconds());
        let long = self.sustained_seconds();
        format!(
            "{events} events, messages or series before the first row, {rounds} turns of {seconds} s each; sustained \
             is one turn of {long} s"
        )
    }
}
