//! The rush: more students than seats at once, without append conditions, with them, and in lanes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use course_enrollment::{
    CourseId, CourseOffered, Error, StudentId, StudentRegistered, enroll, seats_taken,
};
use dcb_core::EventStore as _;
use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;

use super::board::fresh_suffix;
use super::enroll::refusal;
use super::race::{Mode, Race};
use crate::stores::Events;
use store_http::ApiError;
use store_http::input::parse;

const MAX_STUDENTS: u32 = 500;
const MAX_SEATS: u32 = 100;
/// Maximum number of students served at once. The store's other projection slots stay free for
/// other requests.
const AT_ONCE: usize = 50;
/// Pause before a student who met too many conflicts tries again.
const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// Held during a rush, so that only one runs at a time.
pub(super) type Start = Mutex<()>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    students: u32,
    seats: u32,
}

/// The result of a rush for each course.
#[derive(Debug, Serialize)]
pub(super) struct Rush {
    students: usize,
    seats: u32,
    naive: Outcome,
    dcb: Outcome,
    lanes: Outcome,
}

/// The result for one course.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    course: CourseId,
    /// Students with a seat, counted in the log.
    enrolled: u64,
    /// Students who were told that the course is full.
    refused: u64,
    appends: u64,
    /// Appends rejected by their condition. Each was decided again.
    conflicts: u64,
    duration_ms: f64,
}

/// `POST /demo/rush`.
pub(super) async fn run(
    State(events): State<Events>,
    start: Arc<Start>,
    body: Bytes,
) -> Result<Json<Rush>, ApiError> {
    let Request { students, seats } = parse(&body)?;
    check("students", students, MAX_STUDENTS)?;
    check("seats", seats, MAX_SEATS)?;
    let _only_one = start.try_lock().map_err(|_| {
        // Refuses instead of waiting: a queue of rushes would keep the server busy for long.
        ApiError::new(
            StatusCode::CONFLICT,
            "RUSH_UNDER_WAY",
            "another rush is running",
        )
    })?;
    let field = Field::prepare(&events, students, seats).await;
    let field = field.map_err(|failed| refusal(&failed))?;
    let rush = field.rush(&events).await;
    rush.map(Json).map_err(|failed| refusal(&failed))
}

fn check(field: &str, number: u32, max: u32) -> Result<(), ApiError> {
    if (1..=max).contains(&number) {
        return Ok(());
    }
    Err(ApiError::invalid_field(
        field,
        format!("{field} must be from 1 to {max}"),
    ))
}

/// Courses with the same number of seats, and the students who want a seat in each of them.
struct Field {
    seats: u32,
    students: Vec<StudentId>,
    naive: CourseId,
    dcb: CourseId,
    lanes: CourseId,
}

impl Field {
    async fn prepare(store: &Events, students: u32, seats: u32) -> Result<Self, Error> {
        let suffix = fresh_suffix();
        let ids = (1..=students).map(|number| StudentId::new(format!("rush-{suffix}-{number}")));
        let field = Self {
            seats,
            students: ids.collect(),
            naive: CourseId::new(format!("rush-{suffix}-naive")),
            dcb: CourseId::new(format!("rush-{suffix}-dcb")),
            lanes: CourseId::new(format!("rush-{suffix}-lanes")),
        };
        let mut events = vec![
            field
                .offer(&field.naive, "Without the condition")
                .to_event()?,
            field.offer(&field.dcb, "With the condition").to_event()?,
            field.offer(&field.lanes, "In a lane").to_event()?,
        ];
        for student in &field.students {
            events.push(registration(student).to_event()?);
        }
        store.append(events).await?;
        Ok(field)
    }

    /// The page recognizes rush courses by the tag of this category.
    fn offer(&self, course: &CourseId, name: &'static str) -> CourseOffered {
        CourseOffered {
            id: course.clone(),
            name: name.into(),
            instructor: "Prof. Theodora Lindqvist".into(),
            capacity: self.seats,
            category: "Rush".into(),
            popularity: 1.0,
        }
    }

    /// Runs the races one after the other, so that none slows another down.
    async fn rush(&self, store: &Events) -> Result<Rush, Error> {
        Ok(Rush {
            students: self.students.len(),
            seats: self.seats,
            naive: self.race(store, &self.naive, Mode::Naive).await?,
            dcb: self.race(store, &self.dcb, Mode::Conditions).await?,
            lanes: self.race(store, &self.lanes, Mode::Lanes).await?,
        })
    }

    async fn race(&self, store: &Events, course: &CourseId, mode: Mode) -> Result<Outcome, Error> {
        let race = Arc::new(Race::new(store.clone(), mode));
        let slots = Arc::new(Semaphore::new(AT_ONCE));
        let started = Instant::now();
        let mut racing = JoinSet::new();
        for student in &self.students {
            let (race, slots) = (Arc::clone(&race), Arc::clone(&slots));
            let (student, course) = (student.clone(), course.clone());
            racing.spawn(async move {
                let _slot = slots.acquire().await;
                enroll_until_decided(&race, &student, &course).await
            });
        }
        let mut refused = 0;
        while let Some(finished) = racing.join_next().await {
            let has_seat = finished.expect("no student's task is aborted")?;
            refused += u64::from(!has_seat);
        }
        let duration = started.elapsed();
        Ok(Outcome {
            course: course.clone(),
            // Counted in the log, so that lost and double enrollments show.
            enrolled: race.project(&seats_taken(course)?).await?.state,
            refused,
            appends: race.tried(),
            conflicts: race.conflicts(),
            duration_ms: duration.as_secs_f64() * 1000.0,
        })
    }
}

/// Returns whether the student got a seat. Tries again after too many conflicts. The tries end,
/// because each conflict means that another student got a seat, and seats are limited.
async fn enroll_until_decided(
    race: &Arc<Race>,
    student: &StudentId,
    course: &CourseId,
) -> Result<bool, Error> {
    use dcb_core::Error::{RetriesExhausted, TooManyProjections};
    loop {
        match enroll(race, student, course).await {
            Ok(_) => return Ok(true),
            Err(Error::CourseFull { .. }) => return Ok(false),
            Err(Error::Store(RetriesExhausted { .. } | TooManyProjections { .. })) => {
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(failed) => return Err(failed),
        }
    }
}

fn registration(student: &StudentId) -> StudentRegistered {
    StudentRegistered {
        id: student.clone(),
        name: "Student in a hurry".into(),
        email: format!("{student}@example.com").into(),
        major: "Mathematics".into(),
        year: 1,
        // Each student wants a seat in all courses of the rush.
        max_courses: 3,
    }
}
