use std::sync::Arc;
use std::sync::atomic::Ordering;

use course_enrollment::{CourseId, CourseOffered, Error, StudentId, StudentRegistered, enroll};
use dcb_core::postgres::PostgresStore;
use dcb_core::{Append, AppendCondition, Event, EventStore as _};

use tokio::time::Instant;

use super::ledger::{Enrollment, Ledger, Sent};
use super::{Shared, pause};
use crate::sql::PATIENCE;

pub(super) const CAPACITY: u32 = 10;
pub(super) const MAX_COURSES: u32 = 8;
/// More students than seats want each course.
const ATTEMPTS: u64 = 15;
const STUDENTS: u64 = 400;

/// Enrolls students in lanes. Each pair of student and course is tried once.
pub(super) async fn run(shared: Arc<Shared>) -> Ledger {
    let mut ledger = Ledger::default();
    while shared.goes_on() {
        let attempt = shared.seats.fetch_add(1, Ordering::SeqCst);
        let course = course(attempt / ATTEMPTS);
        if attempt.is_multiple_of(ATTEMPTS) {
            offer(&shared, &course, &mut ledger).await;
        }
        let student = student(attempt % STUDENTS);
        let answer = enroll(&shared.events, &student, &course).await;
        let has_failed = matches!(answer, Err(Error::Store(_)));
        let answered = Instant::now();
        ledger.note_enrollment(
            &shared,
            Enrollment {
                student,
                course,
                answer,
                answered,
            },
        );
        pause(has_failed).await;
    }
    ledger
}

/// Registers the students whom [`run`] enrolls.
pub(super) async fn register_students(store: &PostgresStore) {
    let registered = (0..STUDENTS).map(|number| {
        let student = StudentRegistered {
            id: student(number),
            name: "Priyanka Okonkwo".into(),
            email: format!("{number}@example.com").into(),
            major: "Mathematics".into(),
            year: 1,
            max_courses: MAX_COURSES,
        };
        student.to_event().expect("the event is valid")
    });
    let registered = store.append(registered.collect::<Vec<Event>>()).await;
    registered.expect("the leader takes writes");
}

async fn offer(shared: &Shared, course: &CourseId, ledger: &mut Ledger) {
    let offered = CourseOffered {
        id: course.clone(),
        name: "Foundations of Algorithms".into(),
        instructor: "Prof. Theodora Lindqvist".into(),
        capacity: CAPACITY,
        category: "Computer Science".into(),
        popularity: 0.9,
    };
    let offered = offered.to_event().expect("the event is valid");
    let offered = offered.with_id(uuid::Uuid::now_v7());
    let is_new = AppendCondition::fail_if_exists("course_id", course).expect("an id is a tag");
    let append = Append::new(offered.clone()).condition(is_new);
    let answer = dcb_core::append_until_known(&shared.events, append, PATIENCE).await;
    ledger.note(shared, Sent::new([offered], answer));
}

fn course(number: u64) -> CourseId {
    CourseId::new(format!("c{number}"))
}

fn student(number: u64) -> StudentId {
    StudentId::new(format!("s{number}"))
}
