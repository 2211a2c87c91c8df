//! The events, conditions, queries and projections that one row of a benchmark uses.
//!
//! Courses are all in computer science and students all major in it, as in the published rows:
//! [`course_query`] matches 34 of [`past_events`], [`student_query`] 33.

use std::sync::atomic::{AtomicU64, Ordering};

use dcb_core::{AppendCondition, Event, Projector, Query};
use jiff::Timestamp;

use crate::{
    CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered, enrollment_count,
};

const FIELD: &str = "Computer Science";
const ENROLLED_AT: Timestamp = Timestamp::constant(1_735_689_600, 123_456_000);
const VALID: &str = "the ids and texts of a workload are valid";

/// How many events [`past_events`] makes.
pub const PAST_EVENTS: usize = 100;
/// How many events a large append of the published rows has.
pub const BATCH: usize = 10;

/// Makes events that no other call made: ids are `run` and a number that counts up.
///
/// `&self` everywhere, and one atomic addition is all that callers share.
#[derive(Debug)]
pub struct Workload {
    run: u64,
    next: AtomicU64,
}

impl Workload {
    /// A workload whose ids begin with `run`: a number that no other workload of the log has.
    pub fn new(run: u64) -> Self {
        Self {
            run,
            next: AtomicU64::new(0),
        }
    }

    /// One event for an append: a course of its own.
    pub fn course(&self) -> Event {
        course(self.course_id())
    }

    /// [`BATCH`] events for an append: 4 courses, 3 students and 3 enrollments, by turns.
    pub fn batch(&self) -> Vec<Event> {
        self.events(BATCH)
    }

    /// `count` events for an append: a course, a student, an enrollment, and so on by turns.
    pub fn events(&self, count: usize) -> Vec<Event> {
        (0..count).map(|index| self.event(index)).collect()
    }

    /// A condition that nothing in the log meets: any event with a course id of its own and the
    /// category, whatever its type, however old.
    pub fn unmet_condition(&self) -> AppendCondition {
        AppendCondition::fail_if(course_boundary(&self.course_id()))
    }

    /// A course, and the condition that it is the first of its id: appended once under the
    /// condition it is accepted, from then on the condition fails.
    pub fn course_and_condition(&self) -> (Event, AppendCondition) {
        let id = self.course_id();
        let condition = AppendCondition::fail_if(course_boundary(&id));
        (course(id), condition)
    }

    fn event(&self, index: usize) -> Event {
        match index % 3 {
            0 => course(self.course_id()),
            1 => student(self.student_id()),
            _ => enrollment(self.student_id(), self.course_id()),
        }
    }

    fn course_id(&self) -> CourseId {
        CourseId::new(format!("course-{:x}-{}", self.run, self.number()))
    }

    fn student_id(&self) -> StudentId {
        StudentId::new(format!("student-{:x}-{}", self.run, self.number()))
    }

    fn number(&self) -> u64 {
        // Only that numbers differ matters, not in which order threads see them.
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// [`PAST_EVENTS`] events that are in the log before queries and projections are measured: 34
/// courses, 33 students, 33 enrollments, by turns. Each call makes the same.
pub fn past_events() -> Vec<Event> {
    Workload::new(0).events(PAST_EVENTS)
}

/// The courses of the category: 34 of [`past_events`].
pub fn course_query() -> Query {
    let courses = Query::builder()
        .event_type(CourseOffered::TYPE)
        .tag_pair("category", FIELD);
    courses.build().expect(VALID)
}

/// The students of the major: 33 of [`past_events`].
pub fn student_query() -> Query {
    let students = Query::builder()
        .event_type(StudentRegistered::TYPE)
        .tag_pair("major", FIELD);
    students.build().expect(VALID)
}

/// Three counters that between them take in all of [`past_events`]: courses of the category,
/// students of the major, enrollments.
pub fn projectors() -> (Projector<u64>, Projector<u64>, Projector<u64>) {
    (
        Projector::counter(course_query()),
        Projector::counter(student_query()),
        enrollment_count(),
    )
}

/// A projector over one event of [`past_events`], its first course.
pub fn first_course_projector() -> Projector<u64> {
    let first = Workload::new(0).course_id();
    let offers = Query::builder()
        .event_type(CourseOffered::TYPE)
        .tag_pair("course_id", first)
        .tag_pair("category", FIELD);
    Projector::counter(offers.build().expect(VALID))
}

fn course_boundary(id: &CourseId) -> Query {
    let boundary = Query::builder()
        .tag_pair("course_id", id)
        .tag_pair("category", FIELD);
    boundary.build().expect(VALID)
}

fn course(id: CourseId) -> Event {
    let offer = CourseOffered {
        id,
        name: "Advanced Topics in Distributed Systems".into(),
        instructor: "Prof. Wilhelmina Krishnamurthy".into(),
        capacity: 50,
        category: FIELD.into(),
        popularity: 0.8,
    };
    offer.to_event().expect(VALID)
}

fn student(id: StudentId) -> Event {
    let registration = StudentRegistered {
        id,
        name: "Maximilian Papadopoulos".into(),
        email: "maximilian.papadopoulos@example.com".into(),
        major: FIELD.into(),
        year: 3,
        max_courses: 5,
    };
    registration.to_event().expect(VALID)
}

fn enrollment(student_id: StudentId, course_id: CourseId) -> Event {
    let enrollment = EnrollmentCompleted {
        student_id,
        course_id,
        enrolled_at: ENROLLED_AT,
        grade: None,
    };
    enrollment.to_event().expect(VALID)
}
