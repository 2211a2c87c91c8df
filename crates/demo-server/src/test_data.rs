//! The course-enrollment datasets, in the form that load scripts of this interface expect.

use std::sync::OnceLock;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use bytes::Bytes;
use course_enrollment::{
    CourseOffered, Dataset, DatasetContent, EnrollmentCompleted, Grade, StudentRegistered,
};
use serde::{Deserialize, Serialize};

use store_http::ApiError;
use store_http::input::Parameters;

/// How long clients may cache a dataset. Datasets never change, but a new version of the server may
/// have others.
const CACHE_CONTROL: &str = "public, max-age=3600";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct TestDataParameters {
    size: String,
}

/// The datasets, beside the events' own paths.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/dcb/read-test-data", get(test_data))
        .route("/dcb/query-test-data", get(test_data))
        .route("/dcb/smart-test-data", get(test_data))
        .route("/dcb/benchmark-data", get(benchmark_data))
}

/// A dataset by its name in this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Tiny,
    Small,
}

impl Size {
    fn of(parameters: &TestDataParameters) -> Result<Self, ApiError> {
        match parameters.size.as_str() {
            "" | "tiny" => Ok(Self::Tiny),
            "small" => Ok(Self::Small),
            _ => Err(ApiError::invalid_field(
                "size",
                "size must be tiny or small",
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Small => "small",
        }
    }

    fn dataset(self) -> Dataset {
        match self {
            Self::Tiny => Dataset::Tiny,
            Self::Small => Dataset::Medium,
        }
    }

    fn etag(self) -> String {
        format!("\"{}-{}\"", self.name(), &self.dataset().digest()[..16])
    }

    async fn answer(self) -> Result<Response, ApiError> {
        let json = self.json().await?;
        Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
    }

    /// The response body. Generated once per process, on a blocking thread.
    async fn json(self) -> Result<Bytes, ApiError> {
        // Static, because all servers in a process serve the same datasets.
        static MADE: [OnceLock<Bytes>; 2] = [const { OnceLock::new() }; 2];
        let made = &MADE[self as usize];
        if let Some(json) = made.get() {
            return Ok(json.clone());
        }
        let making = tokio::task::spawn_blocking(move || made.get_or_init(|| make(self)).clone());
        making.await.map_err(|failed| ApiError::internal(&failed))
    }
}

/// `GET /dcb/read-test-data`, `/dcb/query-test-data` and `/dcb/smart-test-data`.
async fn test_data(
    Parameters(parameters): Parameters<TestDataParameters>,
) -> Result<Response, ApiError> {
    let size = Size::of(&parameters)?;
    size.answer().await
}

/// `GET /dcb/benchmark-data`.
async fn benchmark_data(
    headers: HeaderMap,
    Parameters(parameters): Parameters<TestDataParameters>,
) -> Result<Response, ApiError> {
    let size = Size::of(&parameters)?;
    let etag = size.etag();
    let is_known = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|known| contains_etag(known.to_str().unwrap_or_default(), &etag));
    let answer = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        size.answer().await?
    };
    let cached = [
        (header::ETAG, etag),
        (header::CACHE_CONTROL, CACHE_CONTROL.to_owned()),
    ];
    Ok((cached, answer).into_response())
}

/// Whether a list of entity tags contains this one.
fn contains_etag(list: &str, etag: &str) -> bool {
    list.split(',').map(str::trim).any(|known| {
        let known = known.strip_prefix("W/").unwrap_or(known);
        // If-None-Match compares weakly (RFC 9110, 13.1.2).
        known == etag || known == "*"
    })
}

#[derive(Serialize)]
struct TestData<'a> {
    success: bool,
    dataset_size: &'a str,
    courses: Vec<CourseData<'a>>,
    students: Vec<StudentData<'a>>,
    enrollments: Vec<EnrollmentData<'a>>,
    source: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct CourseData<'a> {
    #[serde(rename = "ID")]
    id: &'a str,
    name: &'a str,
    instructor: &'a str,
    capacity: u32,
    category: &'a str,
    popularity: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct StudentData<'a> {
    #[serde(rename = "ID")]
    id: &'a str,
    name: &'a str,
    email: &'a str,
    major: &'a str,
    year: u8,
    max_courses: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct EnrollmentData<'a> {
    #[serde(rename = "StudentID")]
    student_id: &'a str,
    #[serde(rename = "CourseID")]
    course_id: &'a str,
    enrolled_at: String,
    grade: &'a str,
}

fn make(size: Size) -> Bytes {
    let content = size.dataset().generate();
    let json = serde_json::to_vec(&test_data_of(size, &content));
    json.expect("strings and numbers have a JSON form").into()
}

fn test_data_of(size: Size, content: &DatasetContent) -> TestData<'_> {
    TestData {
        success: true,
        dataset_size: size.name(),
        courses: content.courses().iter().map(course).collect(),
        students: content.students().iter().map(student).collect(),
        enrollments: content.enrollments().iter().map(enrollment).collect(),
        // The value that scripts expect. The dataset is generated, not read from a cache.
        source: "sqlite_cache",
    }
}

fn course(course: &CourseOffered) -> CourseData<'_> {
    CourseData {
        id: course.id.as_str(),
        name: &course.name,
        instructor: &course.instructor,
        capacity: course.capacity,
        category: &course.category,
        popularity: course.popularity,
    }
}

fn student(student: &StudentRegistered) -> StudentData<'_> {
    StudentData {
        id: student.id.as_str(),
        name: &student.name,
        email: &student.email,
        major: &student.major,
        year: student.year,
        max_courses: student.max_courses,
    }
}

fn enrollment(enrollment: &EnrollmentCompleted) -> EnrollmentData<'_> {
    EnrollmentData {
        student_id: enrollment.student_id.as_str(),
        course_id: enrollment.course_id.as_str(),
        enrolled_at: enrollment.enrolled_at.to_string(),
        grade: enrollment.grade.map_or("", letter),
    }
}

fn letter(grade: Grade) -> &'static str {
    match grade {
        Grade::A => "A",
        Grade::B => "B",
        Grade::C => "C",
        Grade::D => "D",
        Grade::F => "F",
    }
}
