//! The page's courses and students, stored as events.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use course_enrollment::{
    CourseId, CourseOffered, EnrollmentCompleted, StudentId, StudentRegistered,
};
use dcb_core::{Bookmark, Error, Event, EventStore, Position, Query, ReadOptions, SequencedEvent};
use serde::{Deserialize, Serialize};

use crate::health::{Health, Store};
use crate::stores::Events;
use store_http::ApiError;
use store_http::input::check_no_body;

/// Name, category and number of seats.
const COURSES: [(&str, &str, u32); 6] = [
    ("Algorithms", "Computer Science", 12),
    ("Databases", "Computer Science", 8),
    ("Linear Algebra", "Mathematics", 10),
    ("Category Theory", "Mathematics", 2),
    ("Astronomy", "Physics", 6),
    ("Logic", "Philosophy", 4),
];
const STUDENTS: [&str; 12] = [
    "Ada",
    "Alan",
    "Barbara",
    "Donald",
    "Edsger",
    "Frances",
    "Grace",
    "Hedy",
    "John",
    "Katherine",
    "Leslie",
    "Margaret",
];
const MAX_COURSES: u32 = 3;
/// Maximum number of courses, and of students, that the page takes from one event.
const MOST: usize = 100;

/// The courses and students of the page. The last such event in the log is the current one.
#[derive(Debug, Serialize, Deserialize)]
struct DemoStarted {
    courses: Vec<Course>,
    students: Vec<Student>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Course {
    id: CourseId,
    name: String,
    category: String,
    capacity: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Student {
    id: StudentId,
    name: String,
    max_courses: u32,
}

/// The page's initial state: everything up to `position`.
#[derive(Debug, Serialize)]
pub(super) struct Board {
    position: u64,
    courses: Vec<CourseSeats>,
    students: Vec<StudentCourses>,
}

#[derive(Debug, Serialize)]
struct CourseSeats {
    #[serde(flatten)]
    course: Course,
    taken: u64,
}

#[derive(Debug, Serialize)]
struct StudentCourses {
    #[serde(flatten)]
    student: Student,
    courses: Vec<CourseId>,
}

/// `GET /demo/state`.
pub(super) async fn state(State(events): State<Events>) -> Result<Json<Board>, ApiError> {
    Ok(Json(Board::read(&events).await?))
}

/// `POST /demo/courses`: offers new courses to new students. Older courses stay in the log.
pub(super) async fn offer(
    State(events): State<Events>,
    State(health): State<Arc<Health>>,
    body: Bytes,
) -> Result<Json<Board>, ApiError> {
    check_no_body(&body)?;
    let store = &events;
    let appended = store.append(DemoStarted::new().events()?).await;
    health.wrote(Store::Events, appended.as_ref().err());
    appended?;
    Ok(Json(Board::read(store).await?))
}

/// Eight random hex digits that make an id unique.
pub(super) fn fresh_suffix() -> String {
    format!("{:08x}", rand::random::<u32>())
}

impl DemoStarted {
    const TYPE: &'static str = "DemoStarted";
    const TAG: &'static str = "demo:page";

    fn new() -> Self {
        let suffix = fresh_suffix();
        let id = |name: &str| format!("{}-{suffix}", name.to_lowercase().replace(' ', "-"));
        Self {
            courses: COURSES
                .map(|(name, category, capacity)| Course {
                    id: CourseId::new(id(name)),
                    name: name.to_owned(),
                    category: category.to_owned(),
                    capacity,
                })
                .into(),
            students: STUDENTS
                .map(|name| Student {
                    id: StudentId::new(id(name)),
                    name: name.to_owned(),
                    max_courses: MAX_COURSES,
                })
                .into(),
        }
    }

    /// This event, all offers and all registrations, for one append.
    fn events(&self) -> Result<Vec<Event>, Error> {
        let started = Event::builder(Self::TYPE).tag(Self::TAG).json(self).build();
        let offers = self.courses.iter().map(Course::offer);
        let registrations = self.students.iter().map(Student::registration);
        std::iter::once(started)
            .chain(offers)
            .chain(registrations)
            .collect()
    }

    /// The last such event in the log.
    async fn last(store: &impl EventStore) -> Result<Option<(Position, Self)>, Error> {
        let last = ReadOptions::new().backwards().limit(1);
        let found = store.query(&Self::query()?, last).await?;
        let Some(event) = found.events.first() else {
            return Ok(None);
        };
        // Any client can append such an event. If the last one is unreadable, the page has no
        // courses until somebody offers new ones.
        let started: Option<Self> = event.json().ok();
        Ok(started.map(|mut started| {
            started.courses.truncate(MOST);
            started.students.truncate(MOST);
            (event.position(), started)
        }))
    }

    fn query() -> Result<Query, Error> {
        Query::builder()
            .event_type(Self::TYPE)
            .tag(Self::TAG)
            .build()
    }

    /// Matches the enrollments in these courses, and any newer event of this type.
    fn follow_up_query(&self) -> Result<Query, Error> {
        let mut query = Self::query()?;
        for course in &self.courses {
            query = query.or(Query::builder()
                .event_type(EnrollmentCompleted::TYPE)
                .tag_pair("course_id", &course.id)
                .build()?);
        }
        Ok(query)
    }
}

impl Course {
    fn offer(&self) -> Result<Event, Error> {
        let offer = CourseOffered {
            id: self.id.clone(),
            name: self.name.clone().into(),
            instructor: "Prof. Theodora Lindqvist".into(),
            capacity: self.capacity,
            category: self.category.clone().into(),
            popularity: 0.5,
        };
        offer.to_event()
    }
}

impl Student {
    fn registration(&self) -> Result<Event, Error> {
        let student = StudentRegistered {
            id: self.id.clone(),
            name: self.name.clone().into(),
            email: format!("{}@example.com", self.id).into(),
            major: "Mathematics".into(),
            year: 1,
            max_courses: self.max_courses,
        };
        student.to_event()
    }
}

impl Board {
    /// Reads everything up to one position. A client that follows the log from there misses nothing
    /// and counts nothing twice.
    async fn read(store: &impl EventStore) -> Result<Self, Error> {
        while let Some((started_at, started)) = DemoStarted::last(store).await? {
            let options = ReadOptions::new().from(started_at);
            let mut events = store
                .query_stream(&started.follow_up_query()?, options)
                .await?;
            let mut board = Self::of(started, events.head());
            let mut is_last = true;
            while let Some(event) = events.next().await {
                let event = event?;
                is_last &=
                    event.event_type() != DemoStarted::TYPE || event.position() == started_at;
                board.apply(&event);
            }
            // Otherwise somebody offered new courses between the two reads. Start again with those.
            if is_last {
                return Ok(board);
            }
        }
        let nothing = DemoStarted {
            courses: Vec::new(),
            students: Vec::new(),
        };
        Ok(Self::of(nothing, store.head().await?))
    }

    fn of(started: DemoStarted, head: Option<Bookmark>) -> Self {
        let courses = started.courses.into_iter();
        let students = started.students.into_iter();
        Self {
            position: head.map_or(0, |head| head.position.get()),
            courses: courses
                .map(|course| CourseSeats { course, taken: 0 })
                .collect(),
            students: students
                .map(|student| StudentCourses {
                    student,
                    courses: Vec::new(),
                })
                .collect(),
        }
    }

    fn apply(&mut self, event: &SequencedEvent) {
        let course_id = event.tag_value("course_id");
        let mut courses = self.courses.iter_mut();
        let Some(seats) = courses.find(|seats| Some(seats.course.id.as_str()) == course_id) else {
            return;
        };
        // Counts first: students outside the board take seats too.
        seats.taken += 1;
        let student_id = event.tag_value("student_id");
        let mut students = self.students.iter_mut();
        let student = students.find(|student| Some(student.student.id.as_str()) == student_id);
        if let Some(student) = student
            && !student.courses.contains(&seats.course.id)
        {
            student.courses.push(seats.course.id.clone());
        }
    }
}
