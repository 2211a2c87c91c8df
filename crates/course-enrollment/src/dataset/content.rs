use std::io::Write;

use dcb_core::Event;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Dataset, lines};
use crate::{CourseOffered, EnrollmentCompleted, StudentRegistered};

/// The events of a dataset: all courses are offered, then all students register, then they enroll.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetContent {
    pub(super) dataset: Dataset,
    pub(super) courses: Vec<CourseOffered>,
    pub(super) students: Vec<StudentRegistered>,
    pub(super) enrollments: Vec<EnrollmentCompleted>,
}

impl DatasetContent {
    /// The dataset of this content.
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

    /// The enrollments in the order of the requests, not by date.
    pub fn enrollments(&self) -> &[EnrollmentCompleted] {
        &self.enrollments
    }

    /// Number of events.
    pub fn event_count(&self) -> usize {
        self.courses.len() + self.students.len() + self.enrollments.len()
    }

    /// The events in order, built one at a time.
    ///
    /// The id of an event depends only on the dataset's digest and the event's index. Appending the
    /// events again therefore changes nothing, and two datasets never share an id.
    pub fn events(&self) -> impl Iterator<Item = Event> + Send {
        self.checked_events()
            .map(|event| event.expect("generated names and ids make valid tags"))
    }

    /// Like [`Self::events`], for content from a file, which may be invalid.
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

    /// Writes each event as one line of JSON; see [`super::write_json_line`].
    ///
    /// # Errors
    /// The error of a failed write to `out`.
    pub fn write_json_lines(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.events()
            .try_for_each(|event| lines::write_json_line(&event, out))
    }

    /// Computes the SHA-256 of the JSON lines, in hexadecimal. It equals [`Dataset::digest`] unless
    /// the generator has changed. Costs about as much as generating the content.
    pub fn digest(&self) -> String {
        self.checked_digest()
            .expect("generated names and ids make valid tags")
    }

    /// Like [`Self::digest`], for content from a file. `None` if the content is invalid.
    pub(super) fn checked_digest(&self) -> Option<String> {
        let mut hash = Sha256::new();
        for event in self.checked_events() {
            lines::write_json_line(&event.ok()?, &mut hash).ok()?;
        }
        Some(format!("{:x}", hash.finalize()))
    }
}

/// The ids of a dataset's events: version 8 UUIDs built from the first 64 bits of the digest and
/// the event's index.
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
        // `new_v8` replaces six bits: four of the digest, and the top two of the index, which are 0
        // in every dataset. So no two ids become equal.
        let number = (u128::from(self.dataset) << 64) | u128::from(index);
        Uuid::new_v8(number.to_be_bytes())
    }
}
