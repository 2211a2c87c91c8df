//! The projectors that decisions and reports use.
//!
//! A function that takes an id fails with [`dcb_core::Error::Invalid`] if the id can't be a tag. A
//! projection fails with [`dcb_core::Error::Unreadable`] if the data of an event can't be read, so no
//! decision is made without it.

use dcb_core::{Error, Projector, ProjectorBuilder};

use crate::{CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered};

/// Number of seats in the course; `None` if it is not offered.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn course_capacity(course: &CourseId) -> Result<Projector<Option<u32>>, Error> {
    Projector::builder(None)
        .on_json(CourseOffered::TYPE, |capacity, offer: CourseOffered| {
            *capacity = Some(offer.capacity);
        })
        .tag_pair("course_id", course)
        .build()
}

/// Number of students in the course.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn seats_taken(course: &CourseId) -> Result<Projector<u64>, Error> {
    count(EnrollmentCompleted::TYPE)
        .tag_pair("course_id", course)
        .build()
}

/// Whether the student is enrolled in the course.
///
/// # Errors
/// [`Error::Invalid`] if one of the ids can't be a tag.
pub fn is_enrolled(student: &StudentId, course: &CourseId) -> Result<Projector<bool>, Error> {
    Projector::builder(false)
        .on(EnrollmentCompleted::TYPE, |is_enrolled, _| {
            *is_enrolled = true;
        })
        .tag_pair("student_id", student)
        .tag_pair("course_id", course)
        .build()
}

/// Maximum number of courses of the student; `None` if the student is not registered.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn max_courses(student: &StudentId) -> Result<Projector<Option<u32>>, Error> {
    Projector::builder(None)
        .on_json(
            StudentRegistered::TYPE,
            |max, student: StudentRegistered| {
                *max = Some(student.max_courses);
            },
        )
        .tag_pair("student_id", student)
        .build()
}

/// Number of courses that the student takes.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn courses_taken(student: &StudentId) -> Result<Projector<u64>, Error> {
    count(EnrollmentCompleted::TYPE)
        .tag_pair("student_id", student)
        .build()
}

/// Number of offered courses.
pub fn course_count() -> Projector<u64> {
    total(CourseOffered::TYPE)
}

/// Number of registered students.
pub fn student_count() -> Projector<u64> {
    total(StudentRegistered::TYPE)
}

/// Number of enrollments.
pub fn enrollment_count() -> Projector<u64> {
    total(EnrollmentCompleted::TYPE)
}

fn total(event_type: &str) -> Projector<u64> {
    count(event_type)
        .build()
        .expect("the types of this crate are valid")
}

/// Counts the events of this type.
fn count(event_type: &str) -> ProjectorBuilder<u64> {
    Projector::builder(0).on(event_type, |count, _| *count += 1)
}
