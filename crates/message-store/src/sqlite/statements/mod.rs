//! All SQL statements of the backend.

/// The columns of a message, in the order in which [`super::row`] reads them.
macro_rules! messages {
    ($($rest:literal),*) => {
        concat!(
            "SELECT id, stream_name, type, position, global_position, data, metadata, time ",
            "FROM messages ",
            $($rest),*
        )
    };
}

pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const BEGIN_SNAPSHOT: &str = "BEGIN DEFERRED";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";

pub(super) const INSERT: &str = "INSERT INTO messages \
    (global_position, position, time, stream_name, category, type, data, metadata, id, correlation) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
/// Deletes the rows that a failed request has inserted.
pub(super) const UNDO_INSERTS: &str = "DELETE FROM messages WHERE global_position >= ?1";
pub(super) const VERSION: &str = "SELECT position FROM messages \
    WHERE stream_name = ?1 ORDER BY position DESC LIMIT 1";
pub(super) const BY_ID: &str = messages!("WHERE id = ?1");
pub(super) const BY_GLOBAL_POSITION: &str = messages!("WHERE global_position = ?1");
pub(super) const HEAD: &str =
    "SELECT global_position, id FROM messages ORDER BY global_position DESC LIMIT 1";
pub(super) const ID_AT: &str = "SELECT id FROM messages WHERE global_position = ?1";

pub(super) const STREAM: &str =
    messages!("WHERE stream_name = ?1 AND position >= ?2 ORDER BY position LIMIT ?3");
// `INDEXED BY` fails instead of falling back to a scan. Without statistics, the planner could
// prefer to scan all positions and filter by category.
pub(super) const CATEGORY: &str = messages!(
    "INDEXED BY messages_category ",
    "WHERE category = ?1 AND global_position >= ?2 ORDER BY global_position LIMIT ?3"
);
pub(super) const ALL: &str =
    messages!("WHERE global_position >= ?1 ORDER BY global_position LIMIT ?2");
pub(super) const CORRELATED: &str = messages!(
    "INDEXED BY messages_correlation ",
    "WHERE category = ?1 AND global_position >= ?2 AND correlation = ?4 ",
    "ORDER BY global_position LIMIT ?3"
);
// Scans in rowid order without an index. `messages_correlation` orders by category before rowid, so
// a read through it would need a sort.
pub(super) const ALL_CORRELATED: &str = messages!(
    "NOT INDEXED WHERE global_position >= ?1 AND correlation = ?3 ",
    "ORDER BY global_position LIMIT ?2"
);
pub(super) const LAST: &str = messages!("WHERE stream_name = ?1 ORDER BY position DESC LIMIT 1");
pub(super) const LAST_OF_TYPE: &str =
    messages!("WHERE stream_name = ?1 AND type = ?2 ORDER BY position DESC LIMIT 1");

/// `NAME_FROM` finds the first name at or after `?1`, `NAME_AFTER` the first one after it. Each
/// name costs one index search, independent of the stream's length; `DISTINCT` would scan all
/// messages.
pub(super) const NAME_FROM: &str = "SELECT stream_name FROM messages \
    WHERE stream_name >= ?1 ORDER BY stream_name LIMIT 1";
pub(super) const NAME_AFTER: &str = "SELECT stream_name FROM messages \
    WHERE stream_name > ?1 ORDER BY stream_name LIMIT 1";
pub(super) const STREAM_INFO: &str = "SELECT position, time FROM messages \
    WHERE stream_name = ?1 ORDER BY position DESC LIMIT 1";
pub(super) const CATEGORIES: &str = "SELECT category, count(DISTINCT stream_name), count(*) \
    FROM messages GROUP BY category ORDER BY category";
pub(super) const INFO: &str = "SELECT count(DISTINCT stream_name), count(*), \
    (SELECT time FROM messages ORDER BY global_position DESC LIMIT 1) FROM messages";
pub(super) const COUNT: &str = "SELECT count(*) FROM messages";

/// Deletes at most the first `?3` messages of a stream.
pub(super) const TRUNCATE: &str = "DELETE FROM messages WHERE stream_name = ?1 AND position < \
    min(?2, ?3 + (SELECT min(position) FROM messages WHERE stream_name = ?1))";
/// The first position among the first `?3` of a stream that was written at `?2` or later.
pub(super) const FIRST_SINCE: &str = "SELECT position FROM messages \
    WHERE stream_name = ?1 AND time >= ?2 AND position < \
    ?3 + (SELECT min(position) FROM messages WHERE stream_name = ?1) \
    ORDER BY position LIMIT 1";

pub(super) const CHECKPOINT: &str =
    "SELECT position, bookmark FROM checkpoints WHERE consumer = ?1";
pub(super) const ALL_CHECKPOINTS: &str =
    "SELECT position, bookmark, consumer FROM checkpoints ORDER BY consumer";
pub(super) const SAVE_CHECKPOINT: &str = "INSERT INTO checkpoints AS c (consumer, position, bookmark) \
    VALUES (?1, ?2, ?3) \
    ON CONFLICT (consumer) DO UPDATE SET \
        position = max(c.position, excluded.position), \
        bookmark = CASE WHEN excluded.position > c.position THEN excluded.bookmark \
            WHEN excluded.position = c.position THEN coalesce(excluded.bookmark, c.bookmark) \
            ELSE c.bookmark END \
    RETURNING position, bookmark";
pub(super) const DELETE_CHECKPOINT: &str = "DELETE FROM checkpoints WHERE consumer = ?1";

pub(super) const NAMESPACE: &str = "SELECT name, created_at, attributes FROM namespace";
pub(super) const INSERT_NAMESPACE: &str =
    "INSERT INTO namespace (name, created_at, attributes) VALUES (?1, ?2, ?3)";

/// The columns from which others are derived, and those others.
macro_rules! derived {
    ($($rest:literal),*) => {
        concat!(
            "SELECT global_position, stream_name, metadata, category, correlation FROM messages ",
            $($rest),*
        )
    };
}

pub(super) const DERIVED: &str =
    derived!("WHERE global_position > ?1 ORDER BY global_position LIMIT ?2");
pub(super) const FIRST_DERIVED: &str = derived!("ORDER BY global_position LIMIT 1");
pub(super) const LAST_DERIVED: &str = derived!("ORDER BY global_position DESC LIMIT 1");
pub(super) const SET_DERIVED: &str =
    "UPDATE messages SET category = ?2, correlation = ?3 WHERE global_position = ?1";

#[cfg(test)]
mod tests;
