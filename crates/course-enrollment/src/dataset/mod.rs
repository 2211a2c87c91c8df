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
/// A generator with the seed [`Dataset::SEED`] draws the courses, then the students, then
/// [`DatasetSize::enrollments_asked`] requests for a seat. Students who may take more courses ask
/// more often. They prefer popular courses, courses with many free seats and courses of their field.
/// They never ask for a full course. If a student asks for the same course again, the request has no
/// effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// 33 events, small enough to read.
    Tiny,
    /// 30,359 events.
    Small,
    /// 60,859 events.
    Medium,
    /// 609,861 events.
    Large,
}

/// The size of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatasetSize {
    /// Number of offered courses.
    pub courses: usize,
    /// Number of registered students.
    pub students: usize,
    /// Number of requests for a seat. Not all are granted.
    pub enrollments_asked: usize,
    /// Number of seats in each course.
    pub capacity: u32,
}

impl Dataset {
    /// All datasets, from small to large.
    pub const ALL: [Self; 4] = [Self::Tiny, Self::Small, Self::Medium, Self::Large];

    /// Seed of all random draws.
    pub const SEED: u64 = 20_250_101;

    /// The name, as [`Dataset::from_str`] parses it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// The size of the dataset.
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

    /// The recorded SHA-256 of the JSON lines, in hexadecimal.
    pub fn digest(self) -> &'static str {
        match self {
            Self::Tiny => "509f03fdb987707b5e8438c2a8ae5f8ab470819d63865aaec8c977ab53c5adb8",
            Self::Small => "c222d613e8d1191e00e80d26b8e6e73e337306c32a9fb696eba82db6d941ec06",
            Self::Medium => "fa1d68ceffb748aaf988ae5b5eb1a5b3e19851f61f034f2751f21d3fdd21899e",
            Self::Large => "40b42d466843aea100f48567ea4d9f97654602882b4638f8ca55c6546a57d85f",
        }
    }

    /// Generates the dataset. The time grows with n log n; medium takes well under a second.
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
