use std::io::Write;

use dcb_core::Event;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Dataset, lines};
use crate::{CourseOffered, EnrollmentCompleted, StudentRegistered};

/// What happened in a dataset: all courses are offered, then all students register, then they
/// enroll.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetContent {
    pub(super) dataset: Dataset,
    pub(super) courses: Vec<CourseOffered>,
    pub(super) students: Vec<StudentRegistered>,
    pub(super) enrollments: Vec<EnrollmentCompleted>,
}

impl DatasetContent {
    /// The dataset that this is the content of.
    pub fn dataset(&self) -> Dataset {
        self.dataset
    }

    /// The courses, `course-0` first.
    pub fn courses(&self) -> &[CourseOffered] {
        &self.courses
    }

    /// The students, `student-0` first.
    pub fn students(&self) -> &[StudentRegistered] {
        &self.students
    }

    /// The seats that were given, in the order in which they were asked for; not by date.
    pub fn enrollments(&self) -> &[EnrollmentCompleted] {
        &self.enrollments
    }

    /// How many events there are.
    pub fn event_count(&self) -> usize {
        self.courses.len() + self.students.len() + self.enrollments.len()
    }

    /// The events in their order, each made when it is asked for.
    ///
    /// Their ids follow from the dataset's digest and the place in the order, so that appending
    /// them again changes nothing, and those of two datasets never meet.
    pub fn events(&self) -> impl Iterator<Item = Event> + Send {
        self.checked_events()
            .map(|event| event.expect("generated names and ids make valid tags"))
    }

    /// The same of content that was read from somewhere, where an error is possible.
    fn checked_events(&self) -> impl Iterator<Item = Result<Event, dcb_core::Error>> + Send {
        let courses = self.courses.iter().map(CourseOffered::to_event);
        let students = self.students.iter().map(StudentRegistered::to_event);
        let enrollments = self.enrollments.iter().map(EnrollmentCompleted::to_event);
        let ids = EventIds::of(self.dataset);
        courses
            .chain(students)
            .chain(enrollments)
            .zip(0..)
            .map(move |(event, index)| Ok(event?.with_id(ids.at(index))))
    }

    /// Writes every event as one line of JSON; see [`super::write_json_line`].
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_json_lines(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.events()
            .try_for_each(|event| lines::write_json_line(&event, out))
    }

    /// The SHA-256 of the JSON lines, in hexadecimal, computed anew: [`Dataset::digest`], unless
    /// somebody changed how datasets are made. Costs about as much as generating them.
    pub fn digest(&self) -> String {
        self.checked_digest()
            .expect("generated names and ids make valid tags")
    }

    /// The same of content that was read from somewhere: none where not all of it makes events.
    pub(super) fn checked_digest(&self) -> Option<String> {
        let mut hash = Sha256::new();
        for event in self.checked_events() {
            lines::write_json_line(&event.ok()?, &mut hash).ok()?;
        }
        Some(format!("{:x}", hash.finalize()))
    }
}

/// The ids of a dataset's events: UUIDs of version 8 from half the digest and the index.
struct EventIds {
    dataset: u64,
}

impl EventIds {
    fn of(dataset: Dataset) -> Self {
        let dataset = u64::from_str_radix(&dataset.digest()[..16], 16);
        Self {
            dataset: dataset.expect("the recorded digests are hexadecimal"),
        }
    }

    fn at(&self, index: u64) -> Uuid {
        let number = (u128::from(self.dataset) << 64) | u128::from(index);
        Uuid::new_v8(number.to_be_bytes())
    }
}
