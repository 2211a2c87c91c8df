//! The events, conditions, queries and projections of the benchmarks.
//!
//! As in the published benchmarks, all courses are in computer science, and all students major in
//! it. So [`course_query`] matches all 34 courses of [`past_events`], and [`student_query`] all 33
//! students.

use std::sync::atomic::{AtomicU64, Ordering};

use dcb_core::{AppendCondition, Event, Projector, Query};
use jiff::Timestamp;

use crate::{
    CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered, enrollment_count,
};

const FIELD: &str = "Computer Science";
const ENROLLED_AT: Timestamp = Timestamp::constant(1_735_689_600, 123_456_000);
const VALID: &str = "the ids and texts of a workload are valid";

/// Number of events from [`past_events`].
pub const PAST_EVENTS: usize = 100;
/// Number of events in a large append of the published benchmarks.
pub const BATCH: usize = 10;

/// Makes events with unique ids, each built from `run` and a counter.
///
/// All methods take `&self`, so threads can share a workload. They contend only for one atomic
/// counter.
#[derive(Debug)]
pub struct Workload {
    run: u64,
    next: AtomicU64,
}

impl Workload {
    /// A workload whose ids contain `run`. Each workload in a log needs a different `run`.
    pub fn new(run: u64) -> Self {
        Self {
            run,
            next: AtomicU64::new(0),
        }
    }

    /// One event to append: a course with a new id.
    pub fn course(&self) -> Event {
        course(self.course_id())
    }

    /// [`BATCH`] events to append: 4 courses, 3 students and 3 enrollments, in rotation.
    pub fn batch(&self) -> Vec<Event> {
        self.events(BATCH)
    }

    /// `count` events to append: a course, a student, an enrollment, and so on.
    pub fn events(&self, count: usize) -> Vec<Event> {
        (0..count).map(|index| self.event(index)).collect()
    }

    /// A condition with which an append succeeds: it forbids events with a course id that is new and
    /// therefore has no events.
    pub fn unmet_condition(&self) -> AppendCondition {
        AppendCondition::fail_if(course_boundary(&self.course_id()))
    }

    /// A course, and the condition that no event has its id. Appending both succeeds once, then
    /// fails.
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
        // Numbers must only differ; their order between threads does not matter.
        self.next.fetch_add(1, Ordering::Relaxed)
    }
}

/// The [`PAST_EVENTS`] events that the log contains before queries and projections are measured: 34
/// courses, 33 students and 33 enrollments, in rotation. Every call returns the same events.
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

/// Three counters that together cover all of [`past_events`]: courses of the category, students of
/// the major, enrollments.
pub fn projectors() -> (Projector<u64>, Projector<u64>, Projector<u64>) {
    (
        Projector::counter(course_query()),
        Projector::counter(student_query()),
        enrollment_count(),
    )
}

/// A projector that matches one of [`past_events`]: the first course.
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
