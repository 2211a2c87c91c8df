#[cfg(feature = "cache")]
mod cache;
mod content;
mod enrollments;
mod generate;
mod lines;
mod names;

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "cache")]
pub use self::cache::DatasetCache;
pub use self::content::DatasetContent;
pub use self::lines::write_json_line;
use crate::Error;

/// A university of a certain size, the same on every machine and in every run.
///
/// Courses and students are drawn from [`Dataset::SEED`]; students then ask for seats, one after
/// the other, until as many have asked as [`DatasetSize::enrollments_asked`] says. Who may take
/// more courses asks more often; sought-after courses with many seats left, and those of the
/// student's own field, are asked for more often. Asking twice for one course, and asking where
/// every seat is taken, comes to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// 33 events, to look at.
    Tiny,
    /// 30,359 events.
    Small,
    /// 60,859 events.
    Medium,
    /// 609,861 events.
    Large,
}

/// How much there is of everything in a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetSize {
    /// How many courses are offered.
    pub courses: usize,
    /// How many students are registered.
    pub students: usize,
    /// How often a seat is asked for; not every one is given.
    pub enrollments_asked: usize,
    /// How many seats each course has.
    pub capacity: u32,
}

impl Dataset {
    /// Every dataset, the smallest first.
    pub const ALL: [Self; 4] = [Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// What all random draws begin with.
    pub const SEED: u64 = 20_250_101;

    /// The name by which [`Dataset::from_str`] finds it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// How much there is of everything.
    pub fn size(self) -> DatasetSize {
        let (courses, students, enrollments_asked, capacity) = match self {
            Self::Tiny => (5, 10, 20, 50),
            Self::Small => (500, 5_000, 25_000, 100),
            Self::Medium => (1_000, 10_000, 50_000, 100),
            Self::Large => (10_000, 100_000, 500_000, 100),
        };
        DatasetSize {
            courses,
            students,
            enrollments_asked,
            capacity,
        }
    }

    /// The SHA-256 of its JSON lines, in hexadecimal, as recorded with this version of the crate.
    pub fn digest(self) -> &'static str {
        match self {
            Self::Tiny => "509f03fdb987707b5e8438c2a8ae5f8ab470819d63865aaec8c977ab53c5adb8",
            Self::Small => "c222d613e8d1191e00e80d26b8e6e73e337306c32a9fb696eba82db6d941ec06",
            Self::Medium => "fa1d68ceffb748aaf988ae5b5eb1a5b3e19851f61f034f2751f21d3fdd21899e",
            Self::Large => "40b42d466843aea100f48567ea4d9f97654602882b4638f8ca55c6546a57d85f",
        }
    }

    /// Makes the dataset; see [`DatasetContent`] for what it holds.
    ///
    /// Time grows with n log n of the events: well under a second for medium.
    pub fn generate(self) -> DatasetContent {
        generate::content(self)
    }
}

impl fmt::Display for Dataset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Dataset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|dataset| dataset.name() == name)
            .ok_or_else(|| Error::DatasetUnknown {
                name: name.to_owned(),
            })
    }
}
