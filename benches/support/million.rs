//! A log of a million events: a dataset repeated in SQL, and one tag that 100,000 events carry.
//!
//! Each copy has different course and student ids. Types, categories, majors and data are the
//! dataset's. 15 of 100 students are at the main campus, and their enrollments in the copies carry
//! its tag, except at the end of the log.

use super::content::Content;
use super::raw;
use bench::{BoxError, Profile};
use course_enrollment::Dataset;
use sqlx::Connection as _;

/// The name of the log in the tables.
pub(crate) const LABEL: &str = "Million";
/// The tag that over 100,000 enrollments carry.
pub(crate) const HOT_TAG: &str = "campus:main";
/// The length of the end of the log in which no event carries the hot tag.
const COLD_TAIL: i64 = 1_500;
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

/// Adds copies of the log's events until it has `$1` events.
///
/// Ids increase with the positions, like the ids that the store makes, so their index grows at its
/// end. A student is at the main campus if 7 divides the last two digits of the student's number.
const REPEAT: &str = "
    INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data)
    SELECT c.position, e.recorded_at,
           ('00000000-0000-8000-8000-' || lpad(to_hex(c.position), 12, '0'))::uuid,
           e.type, c.tags, e.metadata, e.data
      FROM (SELECT max(position) AS position FROM dcb.event) head
     CROSS JOIN generate_series(1, $1 / head.position) copy(number)
     CROSS JOIN dcb.event e
     CROSS JOIN LATERAL (
        SELECT copy.number * head.position + e.position AS position,
               CASE e.type
               WHEN 'CourseOffered' THEN ARRAY[e.tags[1], e.tags[2] || '-' || copy.number]
               WHEN 'StudentRegistered' THEN ARRAY[e.tags[1], e.tags[2] || '-' || copy.number]
               ELSE CASE WHEN right(e.tags[2], 2)::int % 7 = 0
                          AND copy.number * head.position + e.position <= $1 - $2
                    THEN ARRAY[$3] ELSE '{}' END
                    || ARRAY[e.tags[1] || '-' || copy.number, e.tags[2] || '-' || copy.number]
               END AS tags
     ) c
     WHERE c.position <= $1
     ORDER BY c.position";

const TAGS: &str = "
    INSERT INTO dcb.event_tag (key, position)
    SELECT dcb.tag_key(g.tag, e.type), e.position
      FROM dcb.event e CROSS JOIN unnest(e.tags) g(tag)
     WHERE e.position > $1
     ORDER BY e.position";

/// Repeats the events of the log at `url` until it has `events`.
pub(crate) async fn repeat(url: &str, events: i64) -> Result<(), BoxError> {
    let mut connection = raw::connect(url).await?;
    let dataset: i64 = sqlx::query_scalar("SELECT max(position) FROM dcb.event")
        .fetch_one(&mut connection)
        .await?;
    sqlx::query(REPEAT)
        .bind(events)
        .bind(COLD_TAIL)
        .bind(HOT_TAG)
        .execute(&mut connection)
        .await?;
    sqlx::query(TAGS)
        .bind(dataset)
        .execute(&mut connection)
        .await?;
    connection.close().await?;
    Ok(())
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
