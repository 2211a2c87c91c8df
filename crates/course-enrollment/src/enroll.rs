use dcb_core::{Decided, DecisionModel, Event, EventStore};

use crate::projectors::{course_capacity, courses_taken, is_enrolled, max_courses, seats_taken};
use crate::{CourseId, EnrollmentCompleted, Error, StudentId};

/// Gives `student` a seat in `course`.
///
/// Under any concurrency, a course never has more students than seats, and a student never takes
/// more courses than allowed or the same course twice. Students who want the same course follow each
/// other in a lane. An enrollment costs a read of the student's events and a share of an append; the
/// first of a lane also reads the course's.
///
/// # Errors
/// [`Error::StudentUnknown`], [`Error::CourseUnknown`], [`Error::AlreadyEnrolled`],
/// [`Error::CourseFull`] and [`Error::TooManyCourses`] if the rules forbid the enrollment;
/// [`Error::Store`] if an id can't be a tag, the store fails or every attempt meets a conflict.
pub async fn enroll<S: EventStore + Clone + 'static>(
    store: &S,
    student: &StudentId,
    course: &CourseId,
) -> Result<Decided, Error> {
    // All students of a course have the first projection in common, so they follow each other.
    let model = DecisionModel::new((course_capacity(course)?, seats_taken(course)?)).and((
        max_courses(student)?,
        courses_taken(student)?,
        is_enrolled(student, course)?,
    ));
    let decide = |(capacity, seats_taken), (max_courses, courses_taken, is_enrolled)| {
        let enrollment = Enrollment { student, course };
        // The order decides which error a caller gets if several rules forbid the enrollment.
        enrollment.check_not_enrolled(is_enrolled)?;
        enrollment.check_student(max_courses, courses_taken)?;
        enrollment.check_course(capacity, seats_taken)?;
        Ok::<Event, Error>(EnrollmentCompleted::now(student, course).to_event()?)
    };
    model.decide(store, decide).await
}

/// The student and course that the rules check.
struct Enrollment<'a> {
    student: &'a StudentId,
    course: &'a CourseId,
}

impl Enrollment<'_> {
    fn check_not_enrolled(&self, is_enrolled: bool) -> Result<(), Error> {
        if is_enrolled {
            let (student, course) = (self.student.clone(), self.course.clone());
            return Err(Error::AlreadyEnrolled { student, course });
        }
        Ok(())
    }

    fn check_student(&self, max_courses: Option<u32>, courses_taken: u64) -> Result<(), Error> {
        let student = self.student.clone();
        match max_courses {
            None => Err(Error::StudentUnknown { student }),
            Some(max_courses) if courses_taken >= max_courses.into() => {
                Err(Error::TooManyCourses {
                    student,
                    max_courses,
                })
            }
            Some(_) => Ok(()),
        }
    }

    fn check_course(&self, capacity: Option<u32>, seats_taken: u64) -> Result<(), Error> {
        let course = self.course.clone();
        match capacity {
            None => Err(Error::CourseUnknown { course }),
            Some(capacity) if seats_taken >= capacity.into() => {
                Err(Error::CourseFull { course, capacity })
            }
            Some(_) => Ok(()),
        }
    }
}
