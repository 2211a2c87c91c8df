//! The SQL statements, built once per store for its schema. Values are always bound.

use std::sync::Arc;

use postgres_store::{Schema, WriterConnection};
use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::row::COLUMNS;
use super::sequence::{ADVANCE, IS_AHEAD};

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) write_batch: SqlStr,
    pub(super) advance_sequence: SqlStr,
    pub(super) positions_by_id: SqlStr,
    pub(super) by_id: SqlStr,
    pub(super) by_position: SqlStr,
    stream: [SqlStr; 2],
    all: [SqlStr; 2],
    pub(super) last: SqlStr,
    pub(super) last_of_type: SqlStr,
    pub(super) version: SqlStr,
    pub(super) head: SqlStr,
    pub(super) settled: SqlStr,
    pub(super) is_replayed: SqlStr,
    pub(super) log_position: SqlStr,
    pub(super) streams: SqlStr,
    pub(super) categories: SqlStr,
    pub(super) info: SqlStr,
    pub(super) truncate: SqlStr,
    pub(super) expire: SqlStr,
    pub(super) checkpoint: SqlStr,
    pub(super) all_checkpoints: SqlStr,
    pub(super) save_checkpoint: SqlStr,
    pub(super) delete_checkpoint: SqlStr,
    pub(super) acquire_locks: SqlStr,
    pub(super) lock_table: SqlStr,
    pub(super) versions: SqlStr,
    pub(super) last_position: SqlStr,
    pub(super) import: SqlStr,
    pub(super) set_last_position: SqlStr,
    category: [[[SqlStr; 2]; 2]; 2],
}

impl Statements {
    pub(super) fn new(schema: &Schema, transaction_pooling: bool) -> Self {
        // The `Arc` makes clones cheap. The SQL is safe, because only the validated schema name is
        // inserted.
        let sql = |text: &str| -> SqlStr {
            let text: Arc<str> = schema.qualify(text).into();
            AssertSqlSafe(text).into_sql_str()
        };
        let messages = |rest: &str| sql(&read(&format!("message_store.messages m {rest}")));
        let checked = |read: &str, parameter| [sql(read), sql(&with_place(read, parameter))];
        Self {
            write_batch: sql(&write_batch(transaction_pooling)),
            advance_sequence: sql(ADVANCE),
            positions_by_id: sql(&format!(
                "SELECT m.id::text, m.position, m.global_position, {WAIT_FOR_STANDBY} \
                   FROM message_store.messages m WHERE m.id = ANY ($1)"
            )),
            by_id: sql(&format!(
                "SELECT {COLUMNS}, {WAIT_FOR_STANDBY} \
                   FROM message_store.messages m WHERE m.id = ANY ($1)"
            )),
            by_position: messages("WHERE m.global_position = ANY ($1)"),
            stream: checked(&read(STREAM), 4),
            all: checked(&read(ALL), 6),
            last: messages("WHERE m.stream_name = $1 ORDER BY m.position DESC LIMIT 1"),
            last_of_type: messages(
                "WHERE m.stream_name = $1 AND m.type = $2 ORDER BY m.position DESC LIMIT 1",
            ),
            version: sql("SELECT m.position FROM message_store.messages m \
                 WHERE m.stream_name = $1 ORDER BY m.position DESC LIMIT 1"),
            head: sql("SELECT h.global_position, h.id FROM message_store.head_bookmark() h"),
            settled: sql(SETTLED),
            is_replayed: sql("SELECT EXISTS (SELECT FROM message_store.messages m \
                 WHERE m.global_position = $1) OR l.replayed >= $2, l.replayed \
                 FROM (SELECT (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::bigint AS replayed) l"),
            log_position: sql("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint"),
            streams: sql(STREAMS),
            categories: sql(CATEGORIES),
            info: sql(INFO),
            truncate: sql(TRUNCATE),
            expire: sql(EXPIRE),
            checkpoint: sql(
                "SELECT position, bookmark FROM message_store.checkpoint WHERE consumer = $1",
            ),
            all_checkpoints: sql("SELECT position, bookmark, consumer \
                 FROM message_store.checkpoint ORDER BY consumer COLLATE \"C\""),
            save_checkpoint: sql(SAVE_CHECKPOINT),
            delete_checkpoint: sql("DELETE FROM message_store.checkpoint WHERE consumer = $1"),
            // Locks in the order of the keys, as all writers do. `DISTINCT` alone promises no
            // order.
            acquire_locks: sql("SELECT pg_advisory_xact_lock(l.key) \
                 FROM (SELECT DISTINCT key FROM unnest($1::bigint[]) key ORDER BY key) l"),
            // Conflicts with every INSERT, but not with reads.
            lock_table: sql("LOCK TABLE message_store.messages IN SHARE ROW EXCLUSIVE MODE"),
            versions: sql(VERSIONS),
            last_position: sql("SELECT max(global_position) FROM message_store.messages"),
            import: sql(IMPORT),
            // The sequence must never move back: rolled-back writers may have drawn positions past
            // the imported ones.
            set_last_position: sql(
                "SELECT setval('message_store.messages_global_position_seq', \
                 greatest($1, pg_sequence_last_value('message_store.messages_global_position_seq')))",
            ),
            category: [false, true].map(|correlation| {
                [false, true].map(|group| {
                    let parameter = 4 + u8::from(correlation) + 2 * u8::from(group);
                    checked(&read(&category(correlation, group)), parameter)
                })
            }),
        }
    }

    /// The read of a stream. `$1` is its name, `$2` the first position, `$3` the limit or NULL. If the
    /// reader's place is checked, its position and its id follow, here and below.
    pub(super) fn stream(&self, place: bool) -> SqlStr {
        self.stream[usize::from(place)].clone()
    }

    /// The read of all messages. `$1` is the first position, `$2` the limit, `$3` the correlation, `$4`
    /// and `$5` the member and the size of its group. All but the first may be NULL.
    pub(super) fn all(&self, place: bool) -> SqlStr {
        self.all[usize::from(place)].clone()
    }

    /// The read of a category. `$1` is its name, `$2` the first position, `$3` the limit or NULL.
    /// If they are used, the correlation follows, and then the member and the size of its group.
    pub(super) fn category(&self, correlation: bool, group: bool, place: bool) -> SqlStr {
        let category = &self.category[usize::from(correlation)][usize::from(group)];
        category[usize::from(place)].clone()
    }
}

fn read(from: &str) -> String {
    format!("SELECT {COLUMNS} FROM {from}")
}

/// Adds a row to a read if the message that the reader has handled is not in the store. The row has no
/// stream name. It has the id of the message at the reader's position, the last deleted position and the
/// head. While the message is there, the check costs one search; its other parts do not run.
///
/// `$parameter` is the position, and the parameter after it the id, NULL for a position alone.
fn with_place(read: &str, parameter: u8) -> String {
    let id = parameter + 1;
    format!(
        "SELECT f.id, NULL::text, NULL::text, message_store.last_deleted(), \
                (SELECT max(h.global_position) FROM message_store.messages h), \
                NULL::text, NULL::text, NULL::timestamp \
           FROM (SELECT (SELECT k.id FROM message_store.messages k \
                          WHERE k.global_position = ${parameter}) AS id OFFSET 0) f \
          WHERE CASE WHEN ${id}::text IS NOT NULL THEN f.id IS DISTINCT FROM ${id}::text::uuid \
                     ELSE ${parameter} > coalesce( \
                        (SELECT max(h.global_position) FROM message_store.messages h), 0) END \
         UNION ALL ({read})"
    )
}

/// The last drawn position, the horizon, the last message, and the position in the server's log. The
/// sequence is read before the horizon, so the writer of each position drawn by then has announced itself,
/// or has committed or rolled back.
const SETTLED: &str = "\
    SELECT s.drawn, CASE WHEN s.drawn IS NOT NULL THEN message_store.horizon() END, \
           l.global_position, l.id, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint \
      FROM (SELECT coalesce(pg_sequence_last_value( \
                   'message_store.messages_global_position_seq'), 0) AS drawn OFFSET 0) s \
      LEFT JOIN LATERAL (SELECT m.global_position, m.id FROM message_store.messages m \
                          ORDER BY m.global_position DESC LIMIT 1) l ON true";

const STREAM: &str = "\
    message_store.messages m \
     WHERE m.stream_name = $1 AND m.position >= $2 ORDER BY m.position LIMIT $3";

const ALL: &str = "message_store.get_all_messages($1, $2, $3, $4, $5) m";

/// Makes the commit of a read wait until a synchronous standby has what was read. If the session of a
/// write was ended while its commit waited for the standby, its messages are visible before the standby
/// has them. Without this, the answer to the same write, sent again, would acknowledge them.
const WAIT_FOR_STANDBY: &str = "\
    CASE WHEN current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery() \
         THEN pg_logical_emit_message(true, 'message_store', '')::text END";

/// The lock that a session shares while it listens for the writes to any schema of the database.
pub(super) fn listeners_lock() -> SqlStr {
    "SELECT pg_advisory_lock_shared(1297306964, 0)".into_sql_str()
}

/// Notifies the channel `$15`, NULL for none, of a batch that wrote messages.
///
/// - Without listeners there is no NOTIFY: it would hold a lock of the whole cluster until the commit.
///   The listeners' lock is freed at once, so that two writers don't take each other for listeners.
/// - There is none while the server's queue of notifications is half full, because a full queue fails
///   the commit. Asking for the usage also makes the server drop what every listener has read.
const HINT: &str = "\
    CASE WHEN $15::text IS NOT NULL AND global_positions IS NOT NULL \
          AND NOT CASE WHEN pg_try_advisory_lock(1297306964, 0) \
                       THEN pg_advisory_unlock(1297306964, 0) ELSE false END \
          AND pg_notification_queue_usage() < 0.5 \
         THEN pg_notify($15::text, '')::text END";

fn write_batch(transaction_pooling: bool) -> String {
    let answer = "versions, global_positions, refused, reasons";
    // No row, and nothing written, if the sequence is behind. The argument makes the planner look at
    // the sequence before it calls the function.
    let write = format!(
        "(SELECT {IS_AHEAD} AS is_ahead OFFSET 0) s CROSS JOIN LATERAL message_store.write_batch( \
            $1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14 AND s.is_ahead,NULL) WHERE s.is_ahead"
    );
    if transaction_pooling {
        let process = WriterConnection::PROCESS;
        format!("SELECT {answer}, {process}, {HINT} FROM {write}")
    } else {
        format!("SELECT {answer}, {HINT} FROM {write}")
    }
}

/// Category and position are compared as a row. With separate comparisons, the planner could scan
/// all positions and filter by category.
fn category(correlation: bool, group: bool) -> String {
    let mut text = "message_store.messages m \
         WHERE (message_store.category(m.stream_name), m.global_position) >= ($1, $2) \
         AND message_store.category(m.stream_name) <= $1"
        .to_owned();
    if correlation {
        text += " AND message_store.category(m.metadata->>'correlationStreamName') = $4";
    }
    if group {
        let (member, size) = if correlation { (5, 6) } else { (4, 5) };
        text += &format!(
            " AND abs(message_store.hash_64(coalesce(message_store.cardinal_id(m.stream_name), \
                                                     m.stream_name))) % ${size} = ${member}"
        );
    }
    text + " ORDER BY message_store.category(m.stream_name), m.global_position LIMIT $3"
}

/// Jumps from name to name, which costs two index searches per stream; `DISTINCT` would read all
/// messages. `$1` is the prefix, `$2` the first name that may be in the page, `$3` the limit.
const STREAMS: &str = "\
    WITH RECURSIVE names(name) AS ( \
        (SELECT m.stream_name FROM message_store.messages m \
          WHERE m.stream_name >= $2 \
          ORDER BY m.stream_name LIMIT 1) \
        UNION ALL \
        SELECT (SELECT m.stream_name FROM message_store.messages m \
                 WHERE m.stream_name > n.name ORDER BY m.stream_name LIMIT 1) \
          FROM names n WHERE starts_with(n.name, $1)) \
    SELECT n.name, l.position, l.time FROM names n \
     CROSS JOIN LATERAL ( \
        SELECT m.position, m.time FROM message_store.messages m \
         WHERE m.stream_name = n.name ORDER BY m.position DESC LIMIT 1) l \
     WHERE starts_with(n.name, $1) LIMIT $3";

/// Reads only the index of streams. Grouping by stream first gives both counts in one pass.
const CATEGORIES: &str = "\
    SELECT message_store.category(s.stream_name) AS category, count(*), sum(s.messages)::bigint \
      FROM (SELECT m.stream_name, count(*) AS messages FROM message_store.messages m \
             GROUP BY m.stream_name) s \
     GROUP BY category ORDER BY category";

const INFO: &str = "\
    SELECT count(*), coalesce(sum(s.messages), 0)::bigint, \
           (SELECT m.time FROM message_store.messages m ORDER BY m.global_position DESC LIMIT 1) \
      FROM (SELECT count(*) AS messages FROM message_store.messages m GROUP BY m.stream_name) s";

/// Deletes the first messages of a stream, `$3` at most, that are before `$2` and not the last one.
const TRUNCATE: &str = "\
    DELETE FROM message_store.messages m WHERE m.global_position = ANY (ARRAY( \
        SELECT d.global_position FROM message_store.messages d \
         WHERE d.stream_name = $1 \
           AND d.position < least($2, (SELECT l.position FROM message_store.messages l \
                WHERE l.stream_name = $1 ORDER BY l.position DESC LIMIT 1)) \
         ORDER BY d.position LIMIT $3))";

/// Deletes from each stream of `$1` the messages before the first one that was written at `$2` or
/// later, and `$3` messages at most. Looks at the first `$3` messages of a stream only, so a step costs
/// no more for a long stream.
const EXPIRE: &str = "\
    DELETE FROM message_store.messages m WHERE m.global_position = ANY (ARRAY( \
        SELECT d.global_position FROM unnest($1::text[]) u(name) \
         CROSS JOIN LATERAL (SELECT f.position FROM message_store.messages f \
                  WHERE f.stream_name = u.name ORDER BY f.position LIMIT 1) f \
         CROSS JOIN LATERAL (SELECT least( \
                (SELECT l.position FROM message_store.messages l \
                  WHERE l.stream_name = u.name ORDER BY l.position DESC LIMIT 1), \
                (SELECT y.position FROM message_store.messages y \
                  WHERE y.stream_name = u.name AND y.position < f.position + $3 AND y.time >= $2 \
                  ORDER BY y.position LIMIT 1), \
                f.position + $3) AS kept OFFSET 0) s \
         CROSS JOIN LATERAL (SELECT e.global_position FROM message_store.messages e \
                  WHERE e.stream_name = u.name AND e.position < s.kept \
                  ORDER BY e.position LIMIT $3) d \
         LIMIT $3))";

const SAVE_CHECKPOINT: &str = "\
    INSERT INTO message_store.checkpoint AS c (consumer, position, bookmark) \
    VALUES ($1, $2, $3) \
        ON CONFLICT (consumer) DO UPDATE SET \
           position = greatest(c.position, excluded.position), \
           bookmark = CASE WHEN excluded.position > c.position THEN excluded.bookmark \
                           WHEN excluded.position = c.position \
                                THEN coalesce(excluded.bookmark, c.bookmark) \
                           ELSE c.bookmark END \
    RETURNING position, bookmark";

const VERSIONS: &str = "\
    SELECT (SELECT m.position FROM message_store.messages m \
             WHERE m.stream_name = u.name ORDER BY m.position DESC LIMIT 1) \
      FROM unnest($1::text[]) WITH ORDINALITY u(name, ordinal) ORDER BY u.ordinal";

const IMPORT: &str = "\
    INSERT INTO message_store.messages \
        (id, stream_name, type, position, global_position, data, metadata, time) \
    SELECT u.id, u.stream_name, u.type, u.position, u.global_position, u.data::jsonb, \
           u.metadata::jsonb, u.time \
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) \
           u(id, stream_name, type, position, global_position, data, metadata, time)";
