//! Seats in courses: a decision about a course and a student, in lanes.

use dcb_core::postgres::PostgresStore;
use dcb_core::{Decided, DecisionModel, Error, Event, Projector, Query};

pub(super) const OFFERED: &str = "CourseOffered";
pub(super) const ENROLLED: &str = "StudentEnrolled";
pub(super) const COURSE: &str = "course_id";
pub(super) const STUDENT: &str = "student_id";

/// The seats of a course.
pub(super) const CAPACITY: u32 = 10;
/// The courses that a student may take.
pub(super) const MAX_COURSES: u32 = 8;

/// Why a student got no seat.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The rules forbid it, or nobody offers the course yet.
    Rule,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The event that `student` has a seat in `course`, or that the course is offered.
pub(super) fn event(event_type: &str, tags: &[(&str, u64)]) -> Result<Event, Error> {
    let event = Event::builder(event_type);
    let tagged = tags
        .iter()
        .fold(event, |event, (key, value)| event.tag_pair(key, value));
    tagged.build()
}

/// Counts the events of this type that have all these tags.
fn counter(event_type: &str, tags: &[(&str, u64)]) -> Result<Projector<u64>, Error> {
    let query = Query::builder().event_type(event_type);
    let tagged = tags
        .iter()
        .fold(query, |query, (key, value)| query.tag_pair(key, value));
    Ok(Projector::counter(tagged.build()?))
}

/// Gives `student` a seat in `course`. Students who want the same course follow each other in a lane.
pub(super) async fn enroll(
    store: &PostgresStore,
    student: u64,
    course: u64,
) -> Result<Decided, Refusal> {
    let pair = [(COURSE, course), (STUDENT, student)];
    let of_course = (
        counter(OFFERED, &pair[..1])?,
        counter(ENROLLED, &pair[..1])?,
    );
    let of_student = (counter(ENROLLED, &pair[1..])?, counter(ENROLLED, &pair)?);
    let model = DecisionModel::new(of_course).and(of_student);
    let decide = |(offered, seats), (courses, enrolled)| {
        let is_allowed = offered > 0
            && seats < u64::from(CAPACITY)
            && courses < u64::from(MAX_COURSES)
            && enrolled == 0;
        match is_allowed {
            true => Ok(event(ENROLLED, &pair)?),
            false => Err(Refusal::Rule),
        }
    };
    model.decide(store, decide).await
}
