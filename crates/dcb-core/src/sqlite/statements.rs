//! The SQL statements of the store. Values are always bound, and each connection prepares a statement
//! once.

/// The size of a connection's statement cache, large enough for all statements.
pub(super) const COUNT: usize = 44;

/// Takes the file's write lock immediately, so that the next read sees the last commit of any process.
pub(super) const BEGIN_WRITE: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";

pub(super) const HEAD: &str = "SELECT max(position) FROM dcb_event";
pub(super) const LAST_EVENT: &str =
    "SELECT position, id FROM dcb_event ORDER BY position DESC LIMIT 1";

/// The end of the tag index, the number of clearings, and position and id of the last event. One
/// statement reads them all, so they are from the same snapshot.
pub(super) const INDEX_END_AND_HEAD: &str = "SELECT through, clearings, \
    (SELECT max(position) FROM dcb_event), \
    (SELECT id FROM dcb_event ORDER BY position DESC LIMIT 1) FROM dcb_indexed";
pub(super) const ID_AT: &str = "SELECT id FROM dcb_event WHERE position = ?1";
pub(super) const SET_INDEX_END: &str = "UPDATE dcb_indexed SET through = ?1";

pub(super) const INSERT_EVENT: &str = "INSERT INTO dcb_event \
    (position, recorded_at, id, type, tags, metadata, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// The pair may already exist: two tags of an event may have the same key, or an interrupted run
/// may have moved the pair.
pub(super) const INSERT_TAG: &str =
    "INSERT INTO dcb_event_tag (key, position) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
pub(super) const EMPTY_TAG_INDEX: &str = "DELETE FROM dcb_event_tag";
/// Ends the index at `?1`. Counts as a clearing, because an end may move back only with one.
pub(super) const REPLACE_INDEX_END: &str = "INSERT INTO dcb_indexed (only, through, clearings) VALUES (1, ?1, 1) \
    ON CONFLICT (only) DO UPDATE SET through = excluded.through, clearings = clearings + 1";
pub(super) const TRACK: &str = "INSERT INTO dcb_tracking (source, position) VALUES (?1, ?2) \
    ON CONFLICT (source) DO UPDATE SET position = excluded.position";
pub(super) const INSERT_COMMAND: &str = "INSERT INTO dcb_command \
    (position, events, type, metadata, data) VALUES (?1, ?2, ?3, ?4, ?5)";
/// Commands after the position `?1`, with the commit time of their first event.
pub(super) const COMMANDS: &str = "SELECT c.position, c.events, e.recorded_at, c.type, c.metadata, \
    c.data FROM dcb_command c CROSS JOIN dcb_event e ON e.position = c.position \
    WHERE c.position > ?1 ORDER BY c.position LIMIT ?2";
pub(super) const TRACKED: &str = "SELECT position FROM dcb_tracking WHERE source = ?1";
pub(super) const ALL_TRACKED: &str = "SELECT source, position FROM dcb_tracking ORDER BY source";

/// Empties the log. A DELETE without WHERE frees whole pages without visiting rows.
pub(super) const CLEAR: [&str; 6] = [
    "UPDATE dcb_indexed SET through = 0, clearings = clearings + 1",
    "DELETE FROM dcb_event",
    "DELETE FROM dcb_event_tag",
    "DELETE FROM dcb_tracking",
    "DELETE FROM dcb_command",
    DELETE_STATES,
];

pub(super) const DELETE_STATES: &str = "DELETE FROM dcb_kept_state";
pub(super) const LOAD_STATE: &str = "SELECT bookmark, state FROM dcb_kept_state \
    WHERE name = ?1 AND version = ?2 AND boundary = ?3 AND state IS NOT NULL";
pub(super) const INSERT_STATE: &str = "INSERT INTO dcb_kept_state \
    (name, version, boundary, generation) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
pub(super) const OPEN_STATE: &str = "SELECT generation, bookmark, state FROM dcb_kept_state \
    WHERE name = ?1 AND version = ?2 AND boundary = ?3";
pub(super) const STORE_STATE: &str = "UPDATE dcb_kept_state \
    SET bookmark = ?6, state = ?7, stored_at = CURRENT_TIMESTAMP \
    WHERE name = ?1 AND version = ?2 AND boundary = ?3 AND generation = ?4 AND bookmark IS ?5";
/// Deletes at most `?3` states of versions before `?2`.
pub(super) const DELETE_OLD_STATES: &str = "DELETE FROM dcb_kept_state \
    WHERE (name, version, boundary) IN (SELECT name, version, boundary FROM dcb_kept_state \
        WHERE name = ?1 AND version < ?2 LIMIT ?3)";

/// The columns of an event, in the order in which [`super::row`] decodes them.
macro_rules! event {
    () => {
        "e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data"
    };
}

pub(super) const BY_ID: &str = concat!("SELECT ", event!(), " FROM dcb_event e WHERE e.id = ?1");
pub(super) const TYPE_AND_TAGS: &str = "SELECT type, tags FROM dcb_event WHERE position = ?1";

/// The types and tags of the events with `?1 < position <= ?2`.
pub(super) const TYPES_AND_TAGS: &str = "SELECT position, type, tags FROM dcb_event \
    WHERE position > ?1 AND position <= ?2 ORDER BY position";

/// A statement for each read direction.
pub(super) struct ByDirection {
    forwards: &'static str,
    backwards: &'static str,
}

impl ByDirection {
    pub(super) const fn towards(&self, backwards: bool) -> &'static str {
        if backwards {
            self.backwards
        } else {
            self.forwards
        }
    }
}

/// The events with `?1 < position < ?2`.
pub(super) const EVENTS_IN_RANGE: ByDirection = ByDirection {
    forwards: concat!(
        "SELECT ",
        event!(),
        " FROM dcb_event e WHERE e.position > ?1 AND e.position < ?2 ORDER BY e.position"
    ),
    backwards: concat!(
        "SELECT ",
        event!(),
        " FROM dcb_event e WHERE e.position > ?1 AND e.position < ?2 ORDER BY e.position DESC"
    ),
};

/// The events at the positions of the array `?1`, in its order. CROSS JOIN stops SQLite from
/// reordering the tables.
pub(super) const EVENTS_AT: &str = concat!(
    "SELECT ",
    event!(),
    " FROM rarray(?1) p CROSS JOIN dcb_event e ON e.position = p.value"
);

/// The events under the key `?3` with `?1 < position < ?2`.
pub(super) const EVENTS_OF_KEY: ByDirection = ByDirection {
    forwards: concat!(
        "SELECT ",
        event!(),
        " FROM dcb_event_tag t CROSS JOIN dcb_event e ON e.position = t.position \
          WHERE t.key = ?3 AND t.position > ?1 AND t.position < ?2 ORDER BY t.position"
    ),
    backwards: concat!(
        "SELECT ",
        event!(),
        " FROM dcb_event_tag t CROSS JOIN dcb_event e ON e.position = t.position \
          WHERE t.key = ?3 AND t.position > ?1 AND t.position < ?2 ORDER BY t.position DESC"
    ),
};

/// The positions under the key `?3` with `?1 < position < ?2`.
pub(super) const POSITIONS_OF_KEY: ByDirection = ByDirection {
    forwards: "SELECT position FROM dcb_event_tag \
                WHERE key = ?3 AND position > ?1 AND position < ?2 ORDER BY position",
    backwards: "SELECT position FROM dcb_event_tag \
                 WHERE key = ?3 AND position > ?1 AND position < ?2 ORDER BY position DESC",
};

/// Whether the index has the key `?1` at the position `?2`.
pub(super) const IS_INDEXED: &str = "SELECT 1 FROM dcb_event_tag WHERE key = ?1 AND position = ?2";
/// The next `?3` rows of the index after the row `?1`, `?2`.
pub(super) const TAGS_AFTER: &str = "SELECT key, position FROM dcb_event_tag \
    WHERE (key, position) > (?1, ?2) ORDER BY key, position LIMIT ?3";

/// The smallest key from `?1` to `?2`.
pub(super) const FIRST_KEY: &str = "SELECT key FROM dcb_event_tag \
    WHERE key >= ?1 AND key <= ?2 ORDER BY key, position LIMIT 1";
