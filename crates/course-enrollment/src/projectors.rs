//! The projectors that decisions and reports use.
//!
//! A function that takes an id fails with [`dcb_core::Error::Invalid`] if the id can't be a tag.

use dcb_core::{Error, Projector, Query, QueryBuilder};

use crate::{CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered};

/// Number of seats in the course; `None` if it is not offered.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn course_capacity(course: &CourseId) -> Result<Projector<Option<u32>>, Error> {
    let offers = offers().tag_pair("course_id", course).build()?;
    Ok(Projector::new(offers, None, |capacity, event| {
        // If the offer can't be read, the course counts as not offered, so no student can enroll.
        *capacity = event
            .json::<CourseOffered>()
            .ok()
            .map(|offer| offer.capacity);
    }))
}

/// Number of students in the course.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn seats_taken(course: &CourseId) -> Result<Projector<u64>, Error> {
    Ok(Projector::counter(
        enrollments().tag_pair("course_id", course).build()?,
    ))
}

/// Whether the student is enrolled in the course.
///
/// # Errors
/// [`Error::Invalid`] if one of the ids can't be a tag.
pub fn is_enrolled(student: &StudentId, course: &CourseId) -> Result<Projector<bool>, Error> {
    let enrollments = enrollments()
        .tag_pair("student_id", student)
        .tag_pair("course_id", course);
    Ok(Projector::exists(enrollments.build()?))
}

/// Maximum number of courses of the student; `None` if the student is not registered.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn max_courses(student: &StudentId) -> Result<Projector<Option<u32>>, Error> {
    let registrations = registrations().tag_pair("student_id", student).build()?;
    Ok(Projector::new(registrations, None, |max_courses, event| {
        // A registration that can't be read counts as none, like such an offer.
        *max_courses = event
            .json::<StudentRegistered>()
            .ok()
            .map(|student| student.max_courses);
    }))
}

/// Number of courses that the student takes.
///
/// # Errors
/// [`Error::Invalid`] if the id can't be a tag.
pub fn courses_taken(student: &StudentId) -> Result<Projector<u64>, Error> {
    Ok(Projector::counter(
        enrollments().tag_pair("student_id", student).build()?,
    ))
}

/// Number of offered courses.
pub fn course_count() -> Projector<u64> {
    count(offers())
}

/// Number of registered students.
pub fn student_count() -> Projector<u64> {
    count(registrations())
}

/// Number of enrollments.
pub fn enrollment_count() -> Projector<u64> {
    count(enrollments())
}

fn count(events: QueryBuilder) -> Projector<u64> {
    Projector::counter(events.build().expect("the types of this crate are valid"))
}

fn offers() -> QueryBuilder {
    Query::builder().event_type(CourseOffered::TYPE)
}

fn registrations() -> QueryBuilder {
    Query::builder().event_type(StudentRegistered::TYPE)
}

fn enrollments() -> QueryBuilder {
    Query::builder().event_type(EnrollmentCompleted::TYPE)
}
