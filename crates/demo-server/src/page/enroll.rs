//! Enrolls one student.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use course_enrollment::{CourseId, Error, StudentId, enroll};
use serde::{Deserialize, Serialize};

use crate::stores::Events;
use store_http::ApiError;
use store_http::input::parse;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Enrollment {
    student: StudentId,
    course: CourseId,
}

#[derive(Debug, Serialize)]
pub(super) struct Seat {
    /// Position of the enrollment event, or `None` if no event was needed.
    position: Option<u64>,
    /// Number of attempts; 1 if no concurrent append interfered.
    attempts: u32,
}

/// `POST /demo/enroll`: enrolls the student that a visitor chose.
pub(super) async fn by_hand(
    State(events): State<Events>,
    body: Bytes,
) -> Result<Json<Seat>, ApiError> {
    let Enrollment { student, course } = parse(&body)?;
    let decided = enroll(&events, &student, &course)
        .await
        .map_err(|failed| refusal(&failed))?;
    Ok(Json(Seat {
        position: decided.appended.map(|appended| appended.first().get()),
        attempts: decided.attempts,
    }))
}

/// Maps a rejection by the rules or the store to a response.
pub(super) fn refusal(failed: &Error) -> ApiError {
    // The page explains each code with the names of student and course.
    let (status, code) = match failed {
        Error::CourseUnknown { .. } => (StatusCode::NOT_FOUND, "COURSE_UNKNOWN"),
        Error::StudentUnknown { .. } => (StatusCode::NOT_FOUND, "STUDENT_UNKNOWN"),
        Error::CourseFull { .. } => (StatusCode::CONFLICT, "COURSE_FULL"),
        Error::AlreadyEnrolled { .. } => (StatusCode::CONFLICT, "ALREADY_ENROLLED"),
        Error::TooManyCourses { .. } => (StatusCode::CONFLICT, "TOO_MANY_COURSES"),
        Error::Store(dcb_core::Error::RetriesExhausted { .. }) => {
            return ApiError::overloaded("other enrollments kept interfering; try again");
        }
        Error::Store(failed) => return failed.clone().into(),
        other => return ApiError::internal(other),
    };
    ApiError::new(status, code, failed.to_string())
}
