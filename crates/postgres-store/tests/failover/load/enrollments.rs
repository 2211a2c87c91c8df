use std::sync::Arc;
use std::sync::atomic::Ordering;

use dcb_core::{Append, AppendCondition};
use tokio::time::Instant;
use uuid::Uuid;

use super::ledger::{Enrollment, Ledger, Sent};
use super::seats::{COURSE, OFFERED, Refusal, enroll, event};
use super::{Shared, pause};
use crate::sql::PATIENCE;

/// More students than seats want each course.
const ATTEMPTS: u64 = 15;
const STUDENTS: u64 = 400;

/// Enrolls students in lanes. Each pair of student and course is tried once.
pub(super) async fn run(shared: Arc<Shared>) -> Ledger {
    let mut ledger = Ledger::default();
    while shared.goes_on() {
        let attempt = shared.seats.fetch_add(1, Ordering::SeqCst);
        let course = attempt / ATTEMPTS;
        if attempt.is_multiple_of(ATTEMPTS) {
            offer(&shared, course, &mut ledger).await;
        }
        let student = attempt % STUDENTS;
        let answer = enroll(&shared.events, student, course).await;
        let has_failed = matches!(answer, Err(Refusal::Store(_)));
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

async fn offer(shared: &Shared, course: u64, ledger: &mut Ledger) {
    let offered = event(OFFERED, &[(COURSE, course)]).expect("the event is valid");
    let offered = offered.with_id(Uuid::now_v7());
    let is_new = AppendCondition::fail_if_exists(COURSE, course).expect("an id is a tag");
    let append = Append::new(offered.clone()).condition(is_new);
    let answer = dcb_core::append_until_known(&shared.events, append, PATIENCE).await;
    ledger.note(shared, Sent::new([offered], answer));
}
