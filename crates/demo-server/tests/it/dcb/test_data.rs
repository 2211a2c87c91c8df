use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use super::assert_invalid;
use crate::support::Client;

const PATHS: [&str; 4] = [
    "/dcb/read-test-data",
    "/dcb/benchmark-data",
    "/dcb/query-test-data",
    "/dcb/smart-test-data",
];

fn counts(data: &Value) -> [usize; 3] {
    ["courses", "students", "enrollments"].map(|list| data[list].as_array().map_or(0, Vec::len))
}

#[tokio::test]
async fn every_path_returns_the_requested_dataset() {
    let client = Client::start().await;
    for path in PATHS {
        for size in ["", "?size=tiny"] {
            let data = client.get(&format!("{path}{size}")).await.ok();
            let [courses, students, enrollments] = counts(&data);
            assert_eq!((courses, students), (5, 10));
            assert!((16..=20).contains(&enrollments), "{enrollments}");
            assert_eq!(data["success"], true);
            assert_eq!(data["dataset_size"], "tiny");
            assert_eq!(data["source"], "sqlite_cache");
        }
        assert_invalid(&client.get(&format!("{path}?size=huge")).await, "size");
    }
    client.stop().await;
}

#[tokio::test]
async fn fields_have_the_names_that_scripts_expect() {
    let client = Client::start().await;
    let data = client.get("/dcb/read-test-data?size=tiny").await.ok();
    let names = |list: &str| -> Vec<String> {
        data[list][0]
            .as_object()
            .expect("it is an object")
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(
        names("courses"),
        [
            "Capacity",
            "Category",
            "ID",
            "Instructor",
            "Name",
            "Popularity"
        ]
    );
    assert_eq!(
        names("students"),
        ["Email", "ID", "Major", "MaxCourses", "Name", "Year"]
    );
    assert_eq!(
        names("enrollments"),
        ["CourseID", "EnrolledAt", "Grade", "StudentID"]
    );
    assert_eq!(data["courses"][0]["ID"], "course-0");
    assert_eq!(data["students"][9]["ID"], "student-9");
    let grades = data["enrollments"]
        .as_array()
        .expect("it is an array")
        .iter();
    let grades: Vec<&str> = grades
        .map(|entry| entry["Grade"].as_str().expect("the grade is a string"))
        .collect();
    assert!(grades.iter().all(|grade| grade.len() <= 1), "{grades:?}");
    client.stop().await;
}

/// Many concurrent requests arrive before the dataset is generated.
#[tokio::test(flavor = "multi_thread")]
async fn small_is_the_dataset_with_1000_courses() {
    let client = Client::start().await;
    let asking = (0..8).map(|_| client.get("/dcb/read-test-data?size=small"));
    let answers = futures_util::future::join_all(asking).await;
    let [courses, students, enrollments] = counts(&answers[0].ok());
    assert_eq!((courses, students), (1_000, 10_000));
    assert!(enrollments > 45_000, "{enrollments}");
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
    client.stop().await;
}

#[tokio::test]
async fn known_etag_is_answered_with_304() {
    let client = Client::start().await;
    let first = client.get("/dcb/benchmark-data?size=tiny").await;
    let etag = first.headers["etag"].to_str().unwrap().to_owned();
    assert!(etag.starts_with('"') && etag.ends_with('"'), "{etag}");
    assert!(
        first.headers["cache-control"]
            .to_str()
            .unwrap()
            .contains("max-age=")
    );
    let ask = async |size: &str, known: &str| {
        let path = format!("/dcb/benchmark-data?size={size}");
        let request = client
            .request(Method::GET, &path)
            .header("If-None-Match", known);
        client.send(request, "").await
    };
    for known in [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"other\", {etag}"),
        "*".into(),
    ] {
        let again = ask("tiny", &known).await;
        assert_eq!(again.status, StatusCode::NOT_MODIFIED, "{known}");
        assert_eq!(again.headers["etag"], *etag);
        assert!(again.body.is_empty());
    }
    assert_eq!(ask("tiny", "\"other\"").await.status, StatusCode::OK);
    assert_eq!(ask("small", &etag).await.status, StatusCode::OK);
    assert_eq!(json!(first.ok()["success"]), true);
    client.stop().await;
}
