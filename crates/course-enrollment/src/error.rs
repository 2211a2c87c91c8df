#[cfg(feature = "cache")]
use std::path::PathBuf;

use crate::{CourseId, StudentId};

/// An enrollment was rejected, or a dataset is not available.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The course was never offered. Choose another, or offer it first.
    #[error("course {course} is not offered")]
    CourseUnknown {
        /// The course.
        course: CourseId,
    },
    /// The student was never registered. Register the student first.
    #[error("student {student} is not registered")]
    StudentUnknown {
        /// The student.
        student: StudentId,
    },
    /// Every seat of the course is taken. Choose another.
    #[error("all {capacity} seats of course {course} are taken")]
    CourseFull {
        /// The course.
        course: CourseId,
        /// How many seats it has.
        capacity: u32,
    },
    /// The student already has a seat in the course. There is nothing to do.
    #[error("student {student} is already enrolled in course {course}")]
    AlreadyEnrolled {
        /// The student.
        student: StudentId,
        /// The course.
        course: CourseId,
    },
    /// The student already takes the maximum number of courses. Choose another student, or raise
    /// the maximum.
    #[error("student {student} already takes the maximum of {max_courses} courses")]
    TooManyCourses {
        /// The student.
        student: StudentId,
        /// The student's maximum number of courses.
        max_courses: u32,
    },
    /// No dataset has this name. Use one of [`crate::Dataset::ALL`].
    #[error("unknown dataset {name}: choose tiny, small, medium or large")]
    DatasetUnknown {
        /// The unknown name.
        name: String,
    },
    /// The cache file can't be read or written. Set `REGISTRAR_CACHE_DIR` to a writable folder, or
    /// generate the dataset without a cache.
    #[cfg(feature = "cache")]
    #[error("the dataset cache {} can't be used: {reason}", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// The error of the file system or of SQLite.
        reason: String,
    },
    /// The store failed, or an id can't be a tag. The inner error says what to do.
    #[error(transparent)]
    Store(#[from] dcb_core::Error),
}
