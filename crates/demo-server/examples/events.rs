//! An event store embedded in a small web service: students ask for seats in a course.
//!
//! ```text
//! cargo run -p demo-server --example events
//! curl -X POST localhost:8081/courses/algorithms/students/ada
//! curl localhost:8081/courses/algorithms/seats
//! ```

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use dcb_core::sqlite::{Config, SqliteStore};
use dcb_core::{DecisionModel, Error, Event, EventStore, Projector, Query};
use serde_json::{Value, json};

const SEATS: u64 = 2;

/// The reason for an error response.
enum Refusal {
    Full,
    Enrolled,
    Store(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Refusal> for StatusCode {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Full | Refusal::Enrolled => Self::CONFLICT,
            Refusal::Store(Error::Invalid { .. }) => Self::BAD_REQUEST,
            Refusal::Store(_) => Self::SERVICE_UNAVAILABLE,
        }
    }
}

fn enrollments(course: &str) -> Result<Query, Error> {
    let of_course = Query::builder().event_type("EnrollmentCompleted");
    of_course.tag_pair("course_id", course).build()
}

/// Enrolls a student. Under any concurrency, a course gets no more students than seats: the append
/// fails if either projector would count a newer event, and then `decide` runs again.
async fn enroll(store: &SqliteStore, course: &str, student: &str) -> Result<(), Refusal> {
    let taken = Projector::counter(enrollments(course)?);
    let enrollment = Query::builder()
        .event_type("EnrollmentCompleted")
        .tag_pair("course_id", course)
        .tag_pair("student_id", student);
    let model = DecisionModel::new((taken, Projector::exists(enrollment.build()?)));
    let decide = |(taken, is_enrolled): (u64, bool)| match (is_enrolled, taken < SEATS) {
        (true, _) => Err(Refusal::Enrolled),
        (false, false) => Err(Refusal::Full),
        (false, true) => Ok(Event::builder("EnrollmentCompleted")
            .tag_pair("course_id", course)
            .tag_pair("student_id", student)
            .build()?),
    };
    model.decide(store, decide).await?;
    Ok(())
}

async fn post_student(
    State(store): State<SqliteStore>,
    Path((course, student)): Path<(String, String)>,
) -> Result<StatusCode, StatusCode> {
    enroll(&store, &course, &student).await?;
    Ok(StatusCode::CREATED)
}

async fn get_seats(
    State(store): State<SqliteStore>,
    Path(course): Path<String>,
) -> Result<Json<Value>, StatusCode> {
    let taken = async { store.count(&enrollments(&course)?).await };
    let taken = taken.await.map_err(Refusal::Store)?;
    Ok(Json(
        json!({ "course": course, "taken": taken, "free": SEATS - taken }),
    ))
}

fn service(store: SqliteStore) -> Router {
    Router::new()
        .route("/courses/{course}/students/{student}", post(post_student))
        .route("/courses/{course}/seats", get(get_seats))
        .with_state(store)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = SqliteStore::open(Config::memory()).await?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8081").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, service(store)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use futures_util::future::join_all;
    use http_body_util::BodyExt as _;
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn concurrent_requests_fill_exactly_the_seats() {
        let store = SqliteStore::open(Config::memory()).await.unwrap();
        let service = service(store);
        let ask = async |student: usize| {
            let path = format!("/courses/algorithms/students/{student}");
            let request = Request::post(path).body(Body::empty()).unwrap();
            service.clone().oneshot(request).await.unwrap().status()
        };
        let answers = join_all((0..20).map(ask)).await;
        let won = answers.iter().filter(|status| status.is_success()).count();
        assert_eq!(won as u64, SEATS, "{answers:?}");
        let request = Request::get("/courses/algorithms/seats");
        let request = request.body(Body::empty()).unwrap();
        let seats = service.clone().oneshot(request).await.unwrap();
        let seats = seats.into_body().collect().await.unwrap().to_bytes();
        let seats: Value = serde_json::from_slice(&seats).unwrap();
        assert_eq!(seats["free"], 0);
    }
}
