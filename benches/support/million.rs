//! A log of a million events: a [repeated](super::repeat) dataset.

use super::content::Content;
use bench::Profile;
use course_enrollment::Dataset;

/// The name of the log in the tables.
pub(crate) const LABEL: &str = "Million";
/// The description in the head of a page.
pub(crate) const TEXT: &str = "1,000,000 events: Medium repeated with other course and student \
    ids; over 100,000 enrollments have a further tag, which no event among the last 1,500 has";
const EVENTS: i64 = 1_000_000;
const EVENTS_IN_SMOKE: i64 = 2_000;

/// The log's content; in a smoke run the tiny dataset, repeated up to a few events.
pub(crate) fn content(profile: &Profile) -> Content {
    if profile.is_smoke() {
        Content::Repeated {
            dataset: Dataset::Tiny,
            events: EVENTS_IN_SMOKE,
        }
    } else {
        Content::Repeated {
            dataset: Dataset::Medium,
            events: EVENTS,
        }
    }
}

/// The tag of a student in the first copy, outside the main campus. The few enrollments with this
/// tag lie between enrollments with the hot tag. The callers get students whose numbers are a
/// hundred apart. If there are more callers than such students, some callers share one.
pub(crate) fn cold_tag(content: Content, caller: usize) -> String {
    let students = match content {
        Content::Repeated { dataset, .. } => dataset.size().students,
        _ => 1,
    };
    // The last two digits are 01, which 7 does not divide.
    let number = 100 * (caller % (students / 100).max(1)) + 1;
    format!("student_id:student-{number}-1")
}
