#[cfg(feature = "cache")]
use std::path::PathBuf;

use crate::{CourseId, StudentId};

/// Why an enrollment was refused, or a dataset could not be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The course was never offered. Choose another, or offer it first.
    #[error("course {course} is not offered")]
    CourseUnknown {
        /// The course.
        course: CourseId,
    },
    /// The student was never registered. Register first.
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
    /// The student has a seat in the course. There is nothing to do.
    #[error("student {student} is enrolled in course {course}")]
    AlreadyEnrolled {
        /// The student.
        student: StudentId,
        /// The course.
        course: CourseId,
    },
    /// The student takes as many courses as allowed. Drop the wish, or raise the student's maximum.
    #[error("student {student} takes {max_courses} courses, the most allowed")]
    TooManyCourses {
        /// The student.
        student: StudentId,
        /// How many courses the student may take.
        max_courses: u32,
    },
    /// There is no dataset of this name. Use one of [`crate::Dataset::ALL`].
    #[error("there is no dataset {name}: choose tiny, small, medium or large")]
    DatasetUnknown {
        /// The name that was asked for.
        name: String,
    },
    /// The file that keeps datasets can't be read or written. Name a folder that can be written in
    /// `REGISTRAR_CACHE_DIR`, or generate the dataset without a cache.
    #[cfg(feature = "cache")]
    #[error("the dataset cache {} can't be used: {reason}", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the file system or SQLite reported.
        reason: String,
    },
    /// The store did not do what was asked; its error says what to do.
    #[error(transparent)]
    Store(#[from] dcb_core::Error),
}
