//! What decisions and reports need to know, each as one projector.
//!
//! A projector over one course or student fails to build, as [`dcb_core::Error::Invalid`], where
//! its id can't be a tag.

use dcb_core::{Error, Projector, Query, QueryBuilder};

use crate::{CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered};

/// How many seats the course has; `None` while it is not offered.
///
/// # Errors
/// [`Error::Invalid`] where the id can't be a tag.
pub fn course_capacity(course: &CourseId) -> Result<Projector<Option<u32>>, Error> {
    let offers = offers().tag_pair("course_id", course).build()?;
    Ok(Projector::new(offers, None, |capacity, event| {
        // Data that is not an offer offers nothing, so that nobody can enroll on the strength of it.
        *capacity = event
            .json::<CourseOffered>()
            .ok()
            .map(|offer| offer.capacity);
    }))
}

/// How many students are enrolled in the course.
///
/// # Errors
/// [`Error::Invalid`] where the id can't be a tag.
pub fn seats_taken(course: &CourseId) -> Result<Projector<u64>, Error> {
    Ok(Projector::counter(
        enrollments().tag_pair("course_id", course).build()?,
    ))
}

/// Whether the student is enrolled in the course.
///
/// # Errors
/// [`Error::Invalid`] where one of the ids can't be a tag.
pub fn is_enrolled(student: &StudentId, course: &CourseId) -> Result<Projector<bool>, Error> {
    let enrollments = enrollments()
        .tag_pair("student_id", student)
        .tag_pair("course_id", course);
    Ok(Projector::exists(enrollments.build()?))
}

/// How many courses the student may take; `None` while the student is not registered.
///
/// # Errors
/// [`Error::Invalid`] where the id can't be a tag.
pub fn max_courses(student: &StudentId) -> Result<Projector<Option<u32>>, Error> {
    let registrations = registrations().tag_pair("student_id", student).build()?;
    Ok(Projector::new(registrations, None, |max_courses, event| {
        // As for an offer: who is not registered readably is not registered.
        *max_courses = event
            .json::<StudentRegistered>()
            .ok()
            .map(|student| student.max_courses);
    }))
}

/// How many courses the student is enrolled in.
///
/// # Errors
/// [`Error::Invalid`] where the id can't be a tag.
pub fn courses_taken(student: &StudentId) -> Result<Projector<u64>, Error> {
    Ok(Projector::counter(
        enrollments().tag_pair("student_id", student).build()?,
    ))
}

/// How many courses are offered.
pub fn course_count() -> Projector<u64> {
    count(offers())
}

/// How many students are registered.
pub fn student_count() -> Projector<u64> {
    count(registrations())
}

/// How many enrollments there are.
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
