//! The events that every store holds before it is measured.

use crate::NewEvent;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// The size and the seed of a dataset. Equal ones give equal events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentSize {
    /// Events of the log, at least [`Dataset::LEAST_EVENTS`]; or messages, or series.
    pub events: usize,
    /// Bytes of each event's data.
    pub payload_bytes: usize,
    /// Of the random numbers.
    pub seed: u64,
}

/// Enrollments of students in courses. Each event carries a course and a student.
#[derive(Debug, Clone)]
pub struct Dataset {
    size: ContentSize,
}

impl Dataset {
    /// Sizes of the courses whose events are scattered through the log.
    pub const SCATTERED: [usize; 3] = [5, 34, 100];
    /// Courses of each such size.
    pub const COURSES_OF_A_SIZE: usize = 20;
    /// The fewest events: those of the scattered courses.
    pub const LEAST_EVENTS: usize = (5 + 34 + 100) * Self::COURSES_OF_A_SIZE;
    /// Events of each other course.
    pub const EVENTS_OF_A_COURSE: usize = 34;
    /// On average a student has this many events.
    pub const EVENTS_OF_A_STUDENT: usize = 5;

    /// The dataset of this size.
    pub fn new(size: ContentSize) -> Self {
        Self { size }
    }

    /// Its size.
    pub fn size(&self) -> ContentSize {
        self.size
    }

    /// The number of students.
    pub fn students(&self) -> usize {
        (self.size.events / Self::EVENTS_OF_A_STUDENT).max(1)
    }

    /// How many courses have [`Self::EVENTS_OF_A_COURSE`].
    pub fn courses(&self) -> usize {
        Self::COURSES_OF_A_SIZE + self.others()
    }

    fn others(&self) -> usize {
        self.size.events.saturating_sub(Self::LEAST_EVENTS) / Self::EVENTS_OF_A_COURSE
    }

    /// The tag of such a course; `course` is below [`Self::courses`].
    pub fn course(&self, course: usize) -> String {
        match course.checked_sub(self.others()) {
            None => format!("course:{course}"),
            Some(course) => Self::scattered_course(Self::EVENTS_OF_A_COURSE, course),
        }
    }

    /// The tag of a course whose events are scattered; `course` is below [`Self::COURSES_OF_A_SIZE`].
    pub fn scattered_course(events: usize, course: usize) -> String {
        format!("course:of-{events}-{course}")
    }

    /// The tag of a student.
    pub fn student(student: usize) -> String {
        format!("student:{student}")
    }

    /// All events, in the order of the log.
    pub fn events(&self) -> impl Iterator<Item = NewEvent> {
        let mut random = StdRng::seed_from_u64(self.size.seed);
        // Numbers, because the largest log has 100 million events.
        let mut courses: Vec<u32> = Vec::with_capacity(self.size.events);
        for (number, events) in (0..).zip(Self::scattered()) {
            courses.resize(courses.len() + events.0, number);
        }
        let others = Self::scattered().count() as u32;
        let rest = 0..self.size.events.saturating_sub(courses.len());
        // The last course has what is left.
        courses.extend(rest.map(|event| others + (event / Self::EVENTS_OF_A_COURSE) as u32));
        courses.shuffle(&mut random);
        let (students, this) = (self.students(), self.clone());
        courses.into_iter().map(move |course| {
            let course = match Self::scattered().nth(course as usize) {
                Some((events, course)) => Self::scattered_course(events, course),
                None => format!("course:{}", course - others),
            };
            let student = Self::student(random.random_range(0..students));
            this.event("StudentEnrolled", vec![course, student])
        })
    }

    /// The scattered courses: the number of events of each, and its number among those of its size.
    fn scattered() -> impl Iterator<Item = (usize, usize)> {
        let sizes = Self::SCATTERED.into_iter();
        sizes.flat_map(|events| (0..Self::COURSES_OF_A_SIZE).map(move |course| (events, course)))
    }

    /// An event with data of the dataset's size.
    pub fn event(&self, event_type: &str, tags: Vec<String>) -> NewEvent {
        NewEvent {
            id: None,
            event_type: event_type.to_owned(),
            tags,
            data: self.data(),
        }
    }

    /// A JSON text of the dataset's size.
    pub fn data(&self) -> Vec<u8> {
        let braces = r#"{"note":""}"#.len();
        let note = "x".repeat(self.size.payload_bytes.saturating_sub(braces));
        format!(r#"{{"note":"{note}"}}"#).into_bytes()
    }
}
