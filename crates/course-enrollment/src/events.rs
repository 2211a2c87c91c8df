use std::borrow::Cow;

use dcb_core::Event;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CourseId, StudentId};

/// A text of an event. A fixed one costs no allocation.
pub type Text = Cow<'static, str>;

/// A course can be taken from now on. Tags: `course_id`, `category`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CourseOffered {
    /// The course.
    pub id: CourseId,
    /// What the course is called.
    pub name: Text,
    /// Who teaches it.
    pub instructor: Text,
    /// How many students can enroll.
    pub capacity: u32,
    /// The field it belongs to.
    pub category: Text,
    /// How sought after it is, from 0 to 1.
    pub popularity: f64,
}

/// A student may enroll from now on. Tags: `student_id`, `major`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StudentRegistered {
    /// The student.
    pub id: StudentId,
    /// What the student is called.
    pub name: Text,
    /// Where the student is reached.
    pub email: Text,
    /// The field that the student graduates in.
    pub major: Text,
    /// The year of study, from 1.
    pub year: u8,
    /// How many courses the student may take.
    pub max_courses: u32,
}

/// A student has a seat in a course. Tags: `student_id`, `course_id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnrollmentCompleted {
    /// Who enrolled.
    pub student_id: StudentId,
    /// In which course.
    pub course_id: CourseId,
    /// When.
    pub enrolled_at: Timestamp,
    /// How the student did; `None` until the course has ended.
    pub grade: Option<Grade>,
}

/// How a student did in a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the letters are their own explanation")]
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

    /// The event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] where the id or the category can't be a tag.
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

    /// The event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] where the id or the major can't be a tag.
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

    /// `student` enrolls in `course` now, by this machine's clock, without a grade.
    pub fn now(student: &StudentId, course: &CourseId) -> Self {
        Self {
            student_id: student.clone(),
            course_id: course.clone(),
            enrolled_at: Timestamp::now(),
            grade: None,
        }
    }

    /// The event to append.
    ///
    /// # Errors
    /// [`dcb_core::Error::Invalid`] where one of the ids can't be a tag.
    pub fn to_event(&self) -> Result<Event, dcb_core::Error> {
        Event::builder(Self::TYPE)
            .tag_pair("student_id", &self.student_id)
            .tag_pair("course_id", &self.course_id)
            .json(self)
            .build()
    }
}
