//! `GET /dcb/states`.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{append, assert_invalid, event};
use crate::support::Client;

/// A course with 30 seats, and two students in it, at positions 1, 2 and 4.
async fn started() -> Client {
    let client = Client::start().await;
    let offered = json!({
        "id": "c1", "name": "Logic", "instructor": "Ada", "capacity": 30, "category": "Philosophy", "popularity": 0.5,
    });
    let offered = json!({ "type": "CourseOffered", "data": offered, "tags": ["course_id:c1"] });
    let enrolled = |course: &str| event("EnrollmentCompleted", &[course, "student_id:s1"], 1);
    let events = [
        offered,
        enrolled("course_id:c1"),
        enrolled("course_id:c2"),
        enrolled("course_id:c1"),
        event("Other", &["course_id:c1"], 1),
    ];
    append(&client, events.into_iter().collect()).await;
    client
}

async fn state(client: &Client, path: &str) -> Value {
    client.get(&format!("/dcb/states/{path}")).await.ok()
}

#[tokio::test]
async fn state_is_that_of_its_position() {
    let client = started().await;
    let names = client.get("/dcb/states").await.ok();
    assert_eq!(names, json!(["course", "student"]));
    let course =
        |capacity: Option<u32>, taken: u32| json!({ "capacity": capacity, "seatsTaken": taken });
    for (at, expected) in [
        (
            "&at=0",
            json!({ "position": 0, "numberOfEvents": 0, "nextPosition": 1, "state": course(None, 0) }),
        ),
        (
            "&at=1",
            json!({ "position": 1, "numberOfEvents": 1, "lastPosition": 1, "nextPosition": 2,
                "state": course(Some(30), 0) }),
        ),
        (
            "&at=3",
            json!({ "position": 3, "numberOfEvents": 2, "lastPosition": 2, "nextPosition": 4,
                "state": course(Some(30), 1) }),
        ),
        (
            "&at=5",
            json!({ "position": 5, "numberOfEvents": 3, "lastPosition": 4, "state": course(Some(30), 2) }),
        ),
        (
            "&at=",
            json!({ "position": 5, "numberOfEvents": 3, "lastPosition": 4, "state": course(Some(30), 2) }),
        ),
    ] {
        let found = state(&client, &format!("course?key=c1{at}")).await;
        assert_eq!(found, expected, "{at}");
    }
    let nobody = state(&client, "course?key=c3").await;
    assert_eq!(
        nobody,
        json!({ "position": 5, "numberOfEvents": 0, "state": course(None, 0) })
    );
    let student = state(&client, "student?key=s1&at=3").await;
    assert_eq!(
        student["state"],
        json!({ "maxCourses": null, "coursesTaken": 2 })
    );
    client.stop().await;
}

#[tokio::test]
async fn wrong_requests_for_a_state_are_refused() {
    let client = started().await;
    for (path, field) in [
        ("course", "key"),
        ("course?key=&at=1", "key"),
        ("course?key=%00", "key"),
        ("course?key=c1&at=-1", "at"),
        ("course?key=c1&at=1@2", "at"),
    ] {
        let answer = client.get(&format!("/dcb/states/{path}")).await;
        assert_invalid(&answer, field);
    }
    let unknown = client.get("/dcb/states/none?key=c1").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(unknown.json()["code"], "NOT_FOUND");
    let beyond = client.get("/dcb/states/course?key=c1&at=6").await;
    assert_eq!(beyond.status, StatusCode::CONFLICT);
    let body = beyond.json();
    assert_eq!(body["code"], "AFTER_BEYOND_HEAD");
    assert_eq!(body["details"], json!({ "after": 6, "head": 5 }));
    client.stop().await;
}

/// A client can append such an event.
#[tokio::test]
async fn unreadable_event_of_a_state_is_named() {
    let client = started().await;
    append(&client, event("CourseOffered", &["course_id:c1"], 1)).await;
    let answer = client.get("/dcb/states/course?key=c1").await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    let body = answer.json();
    assert_eq!(body["code"], "UNREADABLE_EVENT");
    assert_eq!(body["details"]["position"], 6);
    // The state before it can be read.
    state(&client, "course?key=c1&at=5").await;
    client.stop().await;
}
