//! Enrolling one student, and what refuses it.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use course_enrollment::{CourseId, Error, StudentId, enroll};
use serde::{Deserialize, Serialize};

use super::parse;
use crate::app::App;
use crate::error::ApiError;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    student: StudentId,
    course: CourseId,
}

#[derive(Debug, Serialize)]
pub(super) struct Seat {
    /// Of the event that says so; none where the rules ask for no event.
    position: Option<u64>,
    /// How often it was decided, 1 where nobody came between.
    attempts: u32,
}

/// `POST /demo/enroll`.
pub(super) async fn by_hand(
    State(app): State<Arc<App>>,
    body: Bytes,
) -> Result<Json<Seat>, ApiError> {
    let Wish { student, course } = parse(&body)?;
    let decided = enroll(&app.stores.events, &student, &course)
        .await
        .map_err(|failed| refusal(&failed))?;
    Ok(Json(Seat {
        position: decided.appended.map(|appended| appended.first().get()),
        attempts: decided.attempts,
    }))
}

/// What the rules or the store refuse, as an answer.
pub(super) fn refusal(failed: &Error) -> ApiError {
    let (status, code) = match failed {
        Error::CourseUnknown { .. } => (StatusCode::NOT_FOUND, "COURSE_UNKNOWN"),
        Error::StudentUnknown { .. } => (StatusCode::NOT_FOUND, "STUDENT_UNKNOWN"),
        Error::CourseFull { .. } => (StatusCode::CONFLICT, "COURSE_FULL"),
        Error::AlreadyEnrolled { .. } => (StatusCode::CONFLICT, "ALREADY_ENROLLED"),
        Error::TooManyCourses { .. } => (StatusCode::CONFLICT, "TOO_MANY_COURSES"),
        Error::Store(dcb_core::Error::RetriesExhausted { .. }) => {
            return ApiError::overloaded("others came between each time");
        }
        Error::Store(failed) => return failed.clone().into(),
        other => return ApiError::internal(other),
    };
    ApiError::new(status, code, failed.to_string())
}
