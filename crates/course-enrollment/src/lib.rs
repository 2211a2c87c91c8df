#![doc = include_str!("../README.md")]

mod dataset;
mod enroll;
mod error;
mod events;
mod ids;
mod load;
mod projectors;
mod random;
mod weights;
pub mod workload;

#[cfg(feature = "cache")]
pub use dataset::DatasetCache;
pub use dataset::{Dataset, DatasetContent, DatasetSize, write_json_line};
pub use enroll::enroll;
pub use error::Error;
pub use events::{CourseOffered, EnrollmentCompleted, Grade, StudentRegistered, Text};
pub use ids::{CourseId, StudentId};
pub use load::{Progress, load};
pub use projectors::{
    course_capacity, course_count, courses_taken, enrollment_count, is_enrolled, max_courses,
    seats_taken, student_count,
};

/// Compiles and runs the example in the workspace's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct WorkspaceReadme;
