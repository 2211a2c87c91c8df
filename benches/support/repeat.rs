//! Repeats a dataset in SQL, with one tag that many events carry: 100,000 of a million.
//!
//! Each copy has different course and student ids. Types, categories, majors and data are the
//! dataset's. 15 of 100 students are at the main campus, and their enrollments in the copies carry
//! its tag, except at the end of the log.

use super::raw;
use bench::BoxError;
use sqlx::Connection as _;

/// The tag that over 100,000 enrollments carry.
pub(crate) const HOT_TAG: &str = "campus:main";
/// This many events at the end of the log do not carry the hot tag.
const COLD_TAIL: i64 = 1_500;

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
