use std::borrow::Cow;

use dcb_core::Event;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CourseId, StudentId};

/// A string in an event. Borrowed if it is a literal, which saves an allocation.
pub type Text = Cow<'static, str>;

/// A course was offered. Tags: `course_id`, `category`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseOffered {
    /// The course.
    pub id: CourseId,
    /// Name of the course.
    pub name: Text,
    /// Name of the teacher.
    pub instructor: Text,
    /// Number of seats.
    pub capacity: u32,
    /// Field of study.
    pub category: Text,
    /// Demand, from 0 to 1.
    pub popularity: f64,
}

/// A student was registered. Tags: `student_id`, `major`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StudentRegistered {
    /// The student.
    pub id: StudentId,
    /// Name of the student.
    pub name: Text,
    /// Email address.
    pub email: Text,
    /// Field of study.
    pub major: Text,
    /// The year of study, from 1.
    pub year: u8,
    /// Maximum number of courses.
    pub max_courses: u32,
}

/// A student got a seat in a course. Tags: `student_id`, `course_id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnrollmentCompleted {
    /// The student.
    pub student_id: StudentId,
    /// The course.
    pub course_id: CourseId,
    /// Time of the enrollment.
    pub enrolled_at: Timestamp,
    /// The grade; `None` until the course has ended.
    pub grade: Option<Grade>,
}

/// A grade in a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the letters need no explanation")]
pub enum Grade {
    A,
    B,
    C,
    D,
    F,
}

impl CourseOffered {
    /// The type of the event.
    pub const TYPE: &'static str = "CourseOffered";

    /// Builds the event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] if the id or the category can't be a tag.
    pub fn to_event(&self) -> Result<Event, dcb_core::Error> {
        Event::builder(Self::TYPE)
            .tag_pair("course_id", &self.id)
            .tag_pair("category", &self.category)
            .json(self)
            .build()
    }
}

impl StudentRegistered {
    /// The type of the event.
    pub const TYPE: &'static str = "StudentRegistered";

    /// Builds the event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] if the id or the major can't be a tag.
    pub fn to_event(&self) -> Result<Event, dcb_core::Error> {
        Event::builder(Self::TYPE)
            .tag_pair("student_id", &self.id)
            .tag_pair("major", &self.major)
            .json(self)
            .build()
    }
}

impl EnrollmentCompleted {
    /// The type of the event.
    pub const TYPE: &'static str = "EnrollmentCompleted";

    /// An enrollment at the current time of this machine, without a grade.
    pub fn now(student: &StudentId, course: &CourseId) -> Self {
        Self {
            student_id: student.clone(),
            course_id: course.clone(),
            enrolled_at: Timestamp::now(),
            grade: None,
        }
    }

    /// Builds the event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] if one of the ids can't be a tag.
    pub fn to_event(&self) -> Result<Event, dcb_core::Error> {
        Event::builder(Self::TYPE)
            .tag_pair("student_id", &self.student_id)
            .tag_pair("course_id", &self.course_id)
            .json(self)
            .build()
    }
}
