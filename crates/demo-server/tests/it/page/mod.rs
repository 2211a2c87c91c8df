//! The page's board, rush and warm decisions.

mod files;

use axum::http::StatusCode;
use demo_server::Settings;
use local_postgres::{Database, Durability};
use serde_json::{Value, json};

use crate::support::{Answer, Client};

/// A server on PostgreSQL, with its database.
async fn on_postgres() -> (Client, Database) {
    let server = local_postgres::shared_with(Durability::Relaxed).await;
    let server = server.expect("PostgreSQL starts");
    let database = server
        .create_database("page")
        .await
        .expect("the database is created");
    let client = Client::with(Settings {
        database_url: Some(database.url().to_owned()),
        ..Settings::in_memory()
    });
    (client.await, database)
}

async fn enroll(client: &Client, student: &Value, course: &Value) -> Answer {
    let enrollment = json!({ "student": student, "course": course });
    client.post("/demo/enroll", &enrollment).await
}

async fn offer(client: &Client) -> Value {
    client.post("/demo/courses", &Value::Null).await.ok()
}

/// The course with the fewest seats.
fn smallest(board: &Value) -> &Value {
    let courses = board["courses"]
        .as_array()
        .expect("the courses are an array");
    let seats = |course: &&Value| course["capacity"].as_u64();
    courses.iter().min_by_key(seats).expect("there is a course")
}

#[track_caller]
fn assert_refused(answer: &Answer, status: StatusCode, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.json()["code"], code);
}

#[tokio::test]
async fn empty_log_has_an_empty_board() {
    let client = Client::start().await;
    let board = client.get("/demo/state").await.ok();
    assert_eq!(
        board,
        json!({ "position": 0, "courses": [], "students": [] })
    );
    client.stop().await;
}

#[tokio::test]
async fn enrollment_takes_a_seat_on_the_board() {
    let client = Client::start().await;
    let offered = offer(&client).await;
    let (student, course) = (&offered["students"][0], &offered["courses"][0]);
    assert_eq!(course["taken"], 0);

    let seat = enroll(&client, &student["id"], &course["id"]).await.ok();
    assert_eq!(seat["attempts"], 1);
    let position = offered["position"]
        .as_u64()
        .expect("the position is a number")
        + 1;
    assert_eq!(seat["position"], position);

    let board = client.get("/demo/state").await.ok();
    assert_eq!(board["position"], position);
    assert_eq!(board["courses"][0]["taken"], 1);
    assert_eq!(board["students"][0]["courses"], json!([course["id"]]));
    client.stop().await;
}

#[tokio::test]
async fn new_courses_start_empty_and_old_events_stay() {
    let client = Client::start().await;
    let before = offer(&client).await;
    let (student, course) = (&before["students"][0]["id"], &before["courses"][0]["id"]);
    enroll(&client, student, course).await.ok();

    let after = offer(&client).await;
    assert_ne!(&after["courses"][0]["id"], course);
    assert_eq!(after["courses"][0]["taken"], 0);
    assert_eq!(after["students"][0]["courses"], json!([]));
    assert_eq!(client.get("/demo/state").await.ok(), after);

    let again = enroll(&client, student, course).await;
    assert_refused(&again, StatusCode::CONFLICT, "ALREADY_ENROLLED");
    client.stop().await;
}

#[tokio::test]
async fn each_rule_rejects_with_its_code() {
    let client = Client::start().await;
    let board = offer(&client).await;
    let ids = |list: &str| -> Vec<Value> {
        let entries = board[list]
            .as_array()
            .expect("the board has the list")
            .iter();
        entries.map(|entry| entry["id"].clone()).collect()
    };
    let (students, courses) = (ids("students"), ids("courses"));

    let small = smallest(&board);
    let seats = small["capacity"].as_u64().expect("the seats are a number") as usize;
    for student in &students[1..=seats] {
        enroll(&client, student, &small["id"]).await.ok();
    }
    let full = enroll(&client, &students[0], &small["id"]).await;
    assert_refused(&full, StatusCode::CONFLICT, "COURSE_FULL");

    let free: Vec<_> = courses.iter().filter(|id| **id != small["id"]).collect();
    let max_courses = board["students"][0]["maxCourses"]
        .as_u64()
        .expect("it is a number") as usize;
    for course in &free[..max_courses] {
        enroll(&client, &students[0], course).await.ok();
    }
    let again = enroll(&client, &students[0], free[0]).await;
    assert_refused(&again, StatusCode::CONFLICT, "ALREADY_ENROLLED");
    let too_many = enroll(&client, &students[0], free[max_courses]).await;
    assert_refused(&too_many, StatusCode::CONFLICT, "TOO_MANY_COURSES");

    let unknown = enroll(&client, &json!("nobody"), &courses[0]).await;
    assert_refused(&unknown, StatusCode::NOT_FOUND, "STUDENT_UNKNOWN");
    let unknown = enroll(&client, &students[1], &json!("nothing")).await;
    assert_refused(&unknown, StatusCode::NOT_FOUND, "COURSE_UNKNOWN");
    client.stop().await;
}

#[tokio::test]
async fn malformed_enrollment_gets_a_precise_error() {
    let client = Client::start().await;
    for (body, named) in [
        ("{", "EOF"),
        ("", "EOF"),
        (r#"{"student":"s"}"#, "`course`"),
        (r#"{"student":"s","course":7}"#, "expected a string"),
        (r#"{"student":"s","course":"c","seat":1}"#, "`seat`"),
    ] {
        let refused = client.post_bytes("/demo/enroll", body).await;
        assert_refused(&refused, StatusCode::BAD_REQUEST, "INVALID_REQUEST");
        let message = refused.json()["error"].to_string();
        assert!(message.contains(named), "{message}");
    }
    let nul = enroll(&client, &json!("a\0"), &json!("c")).await;
    assert_refused(&nul, StatusCode::BAD_REQUEST, "INVALID_REQUEST");
    assert_eq!(nul.json()["details"]["field"], "tags");
    let got = client.get("/demo/enroll").await;
    assert_refused(&got, StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED");
    client.stop().await;
}

/// Runs a rush and checks that its numbers agree with each other and with the log. With conditions
/// the course is exactly full; without them it is overbooked.
async fn assert_rush(client: &Client, students: u64, seats: u64) {
    let size = json!({ "students": students, "seats": seats });
    let rush = client.post("/demo/rush", &size).await.ok();
    let number = |kind: &str, name: &str| rush[kind][name].as_u64().expect("it is a number");
    assert_eq!(number("dcb", "enrolled"), seats, "{rush}");
    // The students of a lane share commits, and do not conflict.
    assert_eq!(number("lanes", "enrolled"), seats, "{rush}");
    assert_eq!(number("lanes", "refused"), students - seats, "{rush}");
    assert_eq!(number("lanes", "conflicts"), 0, "{rush}");
    assert!(number("lanes", "appends") <= seats, "{rush}");
    assert!(number("naive", "enrolled") > seats, "{rush}");
    assert_eq!(number("naive", "conflicts"), 0, "{rush}");
    assert!(number("dcb", "conflicts") > 0, "{rush}");
    for kind in ["dcb", "naive"] {
        let [enrolled, refused] = ["enrolled", "refused"].map(|name| number(kind, name));
        let [appends, conflicts] = ["appends", "conflicts"].map(|name| number(kind, name));
        assert_eq!(enrolled + refused, students, "{rush}");
        assert_eq!(appends, enrolled + conflicts, "{rush}");
        assert_eq!(seats_in_log(client, &rush[kind]["course"]).await, enrolled);
    }
}

/// The number of enrollments in the log, read through the events interface.
async fn seats_in_log(client: &Client, course: &Value) -> u64 {
    let course = course.as_str().expect("there is a course");
    let item = json!({ "types": ["EnrollmentCompleted"], "tags": [format!("course_id:{course}")] });
    let query = json!({ "query": { "items": [item] } });
    let read = client.post("/dcb/read", &query).await.ok();
    read["numberOfMatchingEvents"]
        .as_u64()
        .expect("it is a number")
}

#[tokio::test]
async fn rush_on_sqlite_overbooks_only_without_conditions() {
    let client = Client::start().await;
    assert_rush(&client, 100, 10).await;
    assert_rush(&client, 60, 1).await;
    client.stop().await;
}

#[tokio::test]
async fn rush_on_postgres_overbooks_only_without_conditions() {
    let (client, _database) = on_postgres().await;
    assert_rush(&client, 100, 10).await;
    client.stop().await;
}

#[tokio::test]
async fn rush_with_enough_seats_rejects_no_student() {
    let client = Client::start().await;
    let size = json!({ "students": 20, "seats": 30 });
    let rush = client.post("/demo/rush", &size).await.ok();
    for kind in ["naive", "dcb", "lanes"] {
        assert_eq!(rush[kind]["enrolled"], 20, "{rush}");
        assert_eq!(rush[kind]["refused"], 0, "{rush}");
    }
    client.stop().await;
}

#[tokio::test]
async fn largest_rush_completes() {
    let client = Client::start().await;
    assert_rush(&client, 500, 100).await;
    client.stop().await;
}

#[tokio::test]
async fn rush_does_not_change_the_board() {
    let client = Client::start().await;
    let before = offer(&client).await;
    let size = json!({ "students": 5, "seats": 2 });
    client.post("/demo/rush", &size).await.ok();
    let after = client.get("/demo/state").await.ok();
    assert_eq!(after["courses"], before["courses"]);
    assert_eq!(after["students"], before["students"]);
    client.stop().await;
}

#[tokio::test]
async fn rushes_are_limited_in_size_and_run_one_at_a_time() {
    let client = Client::start().await;
    for (students, seats, field) in [
        (0, 1, "students"),
        (501, 1, "students"),
        (1, 0, "seats"),
        (1, 101, "seats"),
    ] {
        let size = json!({ "students": students, "seats": seats });
        let refused = client.post("/demo/rush", &size).await;
        assert_refused(&refused, StatusCode::BAD_REQUEST, "INVALID_REQUEST");
        assert_eq!(refused.json()["details"]["field"], field);
    }
    let malformed = client.post("/demo/rush", &json!({ "students": 1 })).await;
    assert_refused(&malformed, StatusCode::BAD_REQUEST, "INVALID_REQUEST");

    let size = json!({ "students": 100, "seats": 10 });
    let (first, second) = tokio::join!(
        client.post("/demo/rush", &size),
        client.post("/demo/rush", &size),
    );
    let (done, refused) = if first.status == StatusCode::OK {
        (first, second)
    } else {
        (second, first)
    };
    done.ok();
    assert_refused(&refused, StatusCode::CONFLICT, "RUSH_UNDER_WAY");
    client.post("/demo/rush", &size).await.ok();
    client.stop().await;
}

/// Both kinds of store see every event. Only the cold one reads for each decision.
async fn assert_warm(client: &Client) {
    let size = json!({ "sold": 700, "decisions": 20 });
    let sale = client.post("/demo/decisions", &size).await.ok();
    for (kind, reads) in [("cold", 20), ("warm", 1)] {
        assert_eq!(sale[kind]["seen"], 719, "{sale}");
        assert_eq!(sale[kind]["reads"], reads, "{sale}");
    }
}

#[tokio::test]
async fn warm_decisions_read_once_on_sqlite() {
    let client = Client::start().await;
    assert_warm(&client).await;
    for (sold, decisions, field) in [
        (5001, 1, "sold"),
        (0, 0, "decisions"),
        (0, 501, "decisions"),
    ] {
        let size = json!({ "sold": sold, "decisions": decisions });
        let refused = client.post("/demo/decisions", &size).await;
        assert_refused(&refused, StatusCode::BAD_REQUEST, "INVALID_REQUEST");
        assert_eq!(refused.json()["details"]["field"], field);
    }
    client.stop().await;
}

#[tokio::test]
async fn warm_decisions_read_once_on_postgres() {
    let (client, _database) = on_postgres().await;
    assert_warm(&client).await;
    client.stop().await;
}

#[tokio::test]
async fn unreadable_demo_event_gives_an_empty_board() {
    let client = Client::start().await;
    let event = json!({ "type": "DemoStarted", "data": "{}", "tags": ["demo:page"] });
    client
        .post("/dcb/append", &json!({ "events": event }))
        .await
        .ok();
    let board = client.get("/demo/state").await.ok();
    assert_eq!(
        board,
        json!({ "position": 1, "courses": [], "students": [] })
    );
    assert_eq!(offer(&client).await["courses"][0]["taken"], 0);
    client.stop().await;
}

#[tokio::test]
async fn body_above_the_limit_is_413() {
    let client = Client::with(Settings {
        max_body_bytes: 64,
        ..Settings::in_memory()
    })
    .await;
    let large = client.post_bytes("/demo/rush", vec![b' '; 65]).await;
    assert_refused(&large, StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE");
    client.stop().await;
}

#[tokio::test]
async fn require_token_leaves_only_the_page_files_open() {
    let settings = Settings {
        require_token: true,
        token: Some("a-token-for-tests".to_owned()),
        ..Settings::in_memory()
    };
    let client = Client::with_token(settings, "a-token-for-tests").await;
    for open in ["/", "/page/main.js"] {
        assert_eq!(client.get(open).await.status, StatusCode::OK, "{open}");
    }
    let closed = client.get("/demo/state").await;
    assert_refused(&closed, StatusCode::UNAUTHORIZED, "AUTH_REQUIRED");
    for path in [
        "/demo/courses",
        "/demo/enroll",
        "/demo/rush",
        "/demo/decisions",
    ] {
        let closed = client.post(path, &Value::Null).await;
        assert_refused(&closed, StatusCode::UNAUTHORIZED, "AUTH_REQUIRED");
    }
    let with_one = client.get("/demo/state?token=a-token-for-tests").await;
    assert_eq!(with_one.ok()["position"], 0);
    client.stop().await;
}
