//! Reads with the bare driver: the rows of a read, fetched and dropped.

use super::log::Log;
use super::raw::Connections;
use bench::{Op, Outcome};
use course_enrollment::{CourseOffered, EnrollmentCompleted, StudentRegistered};
use futures_util::TryStreamExt as _;
use local_postgres::Database;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};
use std::sync::Arc;

/// A read, written as the simplest SQL for it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// The events of a type with a tag.
    Tagged {
        /// The type.
        event_type: &'static str,
        /// The tag.
        tag: &'static str,
        /// The read covers this many events at the end of the log.
        last: i64,
    },
    /// The events of a type.
    OfType {
        /// The type.
        event_type: &'static str,
        /// The read covers this many events at the end of the log.
        last: i64,
    },
    /// The events that the three projectors of a workload select from this many events at the end
    /// of the log.
    Projected(i64),
    /// The event at the head, by its id.
    ById,
    /// This many events at the start of the log.
    First(i64),
}

const HEAD: &str = "SELECT position, id::text FROM dcb.event ORDER BY position DESC LIMIT 1";
const TAGGED: &str = "
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
      FROM dcb.event_tag t JOIN dcb.event e ON e.position = t.position
     WHERE t.key = dcb.tag_key($2, $1) AND t.position > $3 AND e.type = $1 AND $2 = ANY (e.tags)
     ORDER BY t.position";
const OF_TYPE: &str = "
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
      FROM dcb.event e WHERE e.type = $1 AND e.position > $2 ORDER BY e.position";
const PROJECTED: &str = "
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
      FROM dcb.event e
     WHERE e.position > $1
       AND (e.type = $2 AND $3 = ANY (e.tags) OR e.type = $4 AND $5 = ANY (e.tags) OR e.type = $6)
     ORDER BY e.position";
const BY_ID: &str = "
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
      FROM dcb.event e WHERE e.id = $1::uuid";
const FIRST: &str = "
    SELECT e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data
      FROM dcb.event e WHERE e.position > $1 ORDER BY e.position LIMIT $2";

impl Read {
    fn statement(self, head: i64, head_id: &str) -> Query<'static, Postgres, PgArguments> {
        match self {
            Self::Tagged {
                event_type,
                tag,
                last,
            } => sqlx::query(TAGGED)
                .bind(event_type)
                .bind(tag)
                .bind(head.saturating_sub(last)),
            Self::OfType { event_type, last } => sqlx::query(OF_TYPE)
                .bind(event_type)
                .bind(head.saturating_sub(last)),
            Self::Projected(last) => sqlx::query(PROJECTED)
                .bind(head - last)
                .bind(CourseOffered::TYPE)
                .bind("category:Computer Science")
                .bind(StudentRegistered::TYPE)
                .bind("major:Computer Science")
                .bind(EnrollmentCompleted::TYPE),
            Self::ById => sqlx::query(BY_ID).bind(head_id.to_owned()),
            Self::First(count) => sqlx::query(FIRST).bind(0_i64).bind(count),
        }
    }
}

struct Reader {
    connections: Connections,
    head: i64,
    head_id: String,
    _database: Arc<Database>,
}

/// An op whose calls fetch all rows of a read.
pub(crate) fn fetched(log: &Log, read: Read, connections: usize) -> Op {
    reader(log, connections).call(move |reader, call| async move {
        let mut connection = reader.connections.for_call(call).await;
        let rows = read
            .statement(reader.head, &reader.head_id)
            .fetch_all(&mut *connection)
            .await?;
        std::hint::black_box(rows);
        Ok(Outcome::Success)
    })
}

/// An op whose call takes the rows of a read one by one as they arrive.
pub(crate) fn streamed(log: &Log, read: Read) -> Op {
    reader(log, 1).call(move |reader, call| async move {
        let mut connection = reader.connections.for_call(call).await;
        let statement = read.statement(reader.head, &reader.head_id);
        let mut rows = statement.fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            std::hint::black_box(row.len());
        }
        Ok(Outcome::Success)
    })
}

fn reader(log: &Log, connections: usize) -> bench::AsyncOp<Reader> {
    Op::given(log, move |log| async move {
        let database = log.database().await?;
        let connections = Connections::open(database.url(), connections).await?;
        let last: Option<(i64, String)> = sqlx::query_as(HEAD)
            .fetch_optional(&mut *connections.first().await)
            .await?;
        // An empty log has no head.
        let (head, head_id) = last.unwrap_or_default();
        Ok(Reader {
            connections,
            head,
            head_id,
            _database: database,
        })
    })
}
