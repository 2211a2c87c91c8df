//! The SQL that the store sends, built once for the log's schema. Values are always bound.
//!
//! # The optimistic append
//!
//! [`Statements::append_optimistic`], and [`Statements::append_lone`] for a single event, insert
//! without reading the head. A writer uses them after a run of uncontended batches. The statement
//! names, by position and id, the event that the writer believes to be the last. These invariants
//! keep the statement safe:
//!
//! - It takes the log's lock only if the lock is free, and never waits for it.
//! - If another session has committed an event since, that event has the next position, and
//!   `PRIMARY KEY (position)` refuses the INSERT.
//! - It checks conditions by keys alone, in its own snapshot. The INSERT succeeds only if the named
//!   event is still the last of the log, so the snapshot misses no event. If an event may match a
//!   condition, the statement inserts no row, and the writer sends `dcb.append` instead.
//!
//! No statement of the append path reads more rows for a frequent tag than for a rare one, and none
//! depends on the planner's statistics. `schema/README.md` names the one exception: two frequent
//! tags that no event has together.
//!
//! Tested by `optimistic.rs`. `appends.rs` and `grown.rs` test the server's plans.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::selection::{SHORT_RANGE, Shape};

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) append: SqlStr,
    append_optimistic: [SqlStr; Check::ALL.len()],
    append_lone: [SqlStr; Check::FOR_ONE_EVENT.len()],
    pub(super) append_with_commands: SqlStr,
    pub(super) commands: SqlStr,
    pub(super) head: SqlStr,
    pub(super) exists: SqlStr,
    pub(super) tracked: SqlStr,
    pub(super) by_id: SqlStr,
    pub(super) positions_by_id: SqlStr,
    pub(super) clear: SqlStr,
    /// Several reads of short ranges. `$1` to `$5` are arrays with an element per read: the two
    /// bounds of the position, both exclusive; the limit, NULL for none; the types as an array
    /// literal, NULL for any; one tag, NULL for any. The first row has the head, as in
    /// [`Statements::read`]. Each further row is an event, followed by the number of its read, from
    /// 1. A read whose range is not short gets no events.
    pub(super) read_together: SqlStr,
    /// The counts of the same reads, one row per read.
    pub(super) extents_together: SqlStr,
    read: [[SqlStr; 2]; Shape::ALL.len()],
    extent: [SqlStr; Shape::COUNTED.len()],
}

/// The keys that an optimistic append checks. A probe is one alternative of a condition: a type, or
/// any, with a set of tags. It is open if [`super::recent_tags`] could not settle it.
///
/// A statement that contains more checks is slower even if none of them runs, because the server
/// sets up each one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Checks no keys, because no probe is open.
    Nothing,
    /// Checks whether an event has one chosen key of an open probe.
    Keys,
    /// Checks whether an event has both chosen keys of an open probe.
    Pairs,
}

impl Check {
    const ALL: [Self; 3] = [Self::Nothing, Self::Keys, Self::Pairs];
    /// The checks that have a statement for a lone event.
    const FOR_ONE_EVENT: [Self; 2] = [Self::Nothing, Self::Keys];
}

/// The columns of an event, in the order that [`super::row`] decodes them.
const EVENT: &str = "e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data";

impl Statements {
    /// Builds the statements for the log in this schema, a quoted identifier. With `pooled`,
    /// appends also return the server process and the start time of their transaction.
    pub(super) fn new(schema: &str, pooled: bool) -> Self {
        // An `Arc`, so that a clone is cheap. Safe to assert: only the schema's name is inserted.
        let sql = |text: String| -> SqlStr {
            let text: Arc<str> = text.replace("dcb.", &format!("{schema}.")).into();
            AssertSqlSafe(text).into_sql_str()
        };
        Self {
            append: sql(append(pooled, false)),
            append_optimistic: Check::ALL.map(|check| sql(append_optimistic(check))),
            append_lone: Check::FOR_ONE_EVENT.map(|check| sql(append_lone(check))),
            append_with_commands: sql(append(pooled, true)),
            commands: sql(
                "SELECT c.position, c.events, e.recorded_at, c.type, c.metadata, c.data \
                             FROM dcb.command c JOIN dcb.event e USING (position) \
                            WHERE c.position > $1 ORDER BY c.position LIMIT $2"
                    .to_owned(),
            ),
            head: sql("SELECT max(position) FROM dcb.event".to_owned()),
            exists: sql(
                "SELECT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) p(type, tags) \
                         CROSS JOIN LATERAL dcb.first_match(p.type, p.tags::text[], 0) m(position) \
                         WHERE m.position IS NOT NULL)"
                    .to_owned(),
            ),
            tracked: sql("SELECT position FROM dcb.tracking WHERE source = $1".to_owned()),
            by_id: sql(format!(
                "SELECT {EVENT} FROM dcb.event e WHERE e.id = ANY ($1)"
            )),
            positions_by_id: sql("SELECT e.id::text, e.position FROM dcb.event e \
                                  WHERE e.id = ANY ($1)"
                .to_owned()),
            // One message, so one transaction. The lock comes first, as in dcb.append. TRUNCATE and
            // not DELETE: every search for the head would step over deleted rows until a vacuum.
            clear: sql(
                "SELECT pg_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int); \
                        TRUNCATE dcb.event, dcb.event_tag, dcb.tracking, dcb.command; \
                        SELECT pg_notify(trim('\"' FROM left('dcb.event', -6)), '')"
                    .to_owned(),
            ),
            read_together: sql(read_together()),
            extents_together: sql(extents_together()),
            read: Shape::ALL
                .map(|shape| [false, true].map(|backwards| sql(read(shape, backwards)))),
            extent: Shape::COUNTED.map(|shape| sql(extent(shape))),
        }
    }

    /// Inserts the events if the event with position `$1` and id `$2` is the last of the log and no
    /// checked key occurs. The number of inserted rows is the number of events, or 0 if it inserted
    /// nothing.
    ///
    /// `$3` to `$9` are the events and their tags. [`Check::Keys`] adds `$10`, the open probes, and
    /// `$11` and `$12`, `after` and key of every probe. [`Check::Pairs`] adds `$13`, the second key
    /// of every probe, NULL for none.
    pub(super) fn append_optimistic(&self, check: Check) -> SqlStr {
        self.append_optimistic[check as usize].clone()
    }

    /// [`Statements::append_optimistic`] for one event with tags and at most one open probe. The
    /// number of inserted rows is the number of tag keys, or 0. `None` if there is no such
    /// statement for the check.
    ///
    /// `$1` to `$7` are single values, `$8` the keys of the event's tags. [`Check::Keys`] adds `$9`
    /// and `$10`, `after` and key of the probe.
    pub(super) fn append_lone(&self, check: Check) -> Option<SqlStr> {
        self.append_lone.get(check as usize).cloned()
    }

    /// Reads events, one per row. `$1` and `$2` bound the position, both exclusive; `$3` is the
    /// limit, NULL for none; `$4` and `$5` depend on the shape. The first row has only a position:
    /// the head of the same snapshot, NULL if the log is empty.
    pub(super) fn read(&self, shape: Shape, backwards: bool) -> SqlStr {
        self.read[shape as usize][usize::from(backwards)].clone()
    }

    /// Counts events. The row also has the last of them and the head of the same snapshot. The
    /// parameters are those of [`Statements::read`].
    pub(super) fn extent(&self, shape: Shape) -> SqlStr {
        self.extent[shape as usize].clone()
    }
}

fn append(pooled: bool, with_commands: bool) -> String {
    let session = if pooled {
        ", pg_backend_pid() AS pid, extract(epoch FROM now())::text AS began"
    } else {
        ""
    };
    let commands = if with_commands {
        ", dcb.keep_commands(head, refused, $1, $22, $23, $24, $25)"
    } else {
        ""
    };
    format!(
        "SELECT head, refused, reasons, positions{session}{commands} FROM dcb.append(\
         $1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21)"
    )
}

/// The statement's snapshot is older than its lock, so it can't read the current head. If others
/// have appended since, their events have these positions, and the primary key refuses the INSERT.
/// The statement does not wait for the log's lock, because it already holds locks on the tables,
/// and waiting could deadlock with `clear`, which takes the locks in the other order. If the log's
/// lock is taken, another session is appending or clearing, and the statement inserts nothing.
///
/// The arrays are unnested in a SELECT list. If they were functions in FROM, the server would store
/// all their rows before it reads the first, which costs a batch of 100 events about 25 us.
fn append_optimistic(check: Check) -> String {
    let nothing_found = match check {
        Check::Nothing => String::new(),
        Check::Keys => nothing_found("", &key_occurs("p.key", "p.after")),
        Check::Pairs => nothing_found(", ($13::bigint[])[o.probe] AS other", &key_or_pair_occurs()),
    };
    let may_insert = may_insert("($1::bigint[])[1]", "($2::uuid[])[1]", &nothing_found);
    format!(
        "WITH last AS MATERIALIZED (SELECT {may_insert} AS is_it), \
        inserted_tags AS ( \
            INSERT INTO dcb.event_tag (key, position) \
            SELECT u.key, ($1::bigint[])[1] + u.event \
              FROM (SELECT unnest($8::int[]) AS event, unnest($9::bigint[]) AS key) u \
             WHERE (SELECT l.is_it FROM last l)) \
        INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data) \
        SELECT ($1::bigint[])[1] + u.ordinal, statement_timestamp(), \
               u.id, u.type, u.tags::text[], u.metadata::json, u.data \
          FROM (SELECT generate_series(1, cardinality($3::uuid[])) AS ordinal, \
                       unnest($3::uuid[]) AS id, unnest($4::text[]) AS type, \
                       unnest($5::text[]) AS tags, unnest($6::text[]) AS metadata, \
                       unnest($7::bytea[]) AS data) u \
         WHERE (SELECT l.is_it FROM last l)"
    )
}

/// [`append_optimistic`] with single values: only the tags' keys are an array. The shorter set-up
/// matters more here than in a batch: before a lone append the server has usually waited for the
/// disk, so the processor's caches are cold.
fn append_lone(check: Check) -> String {
    let nothing_found = match check {
        Check::Keys => format!(
            "AND $9::bigint <= $1::bigint AND {} IS NULL",
            key_occurs("$10::bigint", "$9::bigint")
        ),
        Check::Nothing | Check::Pairs => String::new(),
    };
    let may_insert = may_insert("$1::bigint", "$2::uuid", &nothing_found);
    format!(
        "WITH inserted AS ( \
            INSERT INTO dcb.event (position, recorded_at, id, type, tags, metadata, data) \
            SELECT $1::bigint + 1, statement_timestamp(), \
                   $3::uuid, $4::text, $5::text::text[], $6::text::json, $7::bytea \
             WHERE {may_insert} \
            RETURNING position) \
        INSERT INTO dcb.event_tag (key, position) \
        SELECT unnest($8::bigint[]), i.position FROM inserted i"
    )
}

/// True if the log's lock is free, the event at this position has this id, and nothing is found.
/// The expression then also notifies the listeners, if there are any.
fn may_insert(last_position: &str, last_id: &str, nothing_found: &str) -> String {
    format!(
        "CASE WHEN pg_try_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int) \
                   AND (SELECT e.id FROM dcb.event e WHERE e.position = {last_position}) \
                       = {last_id} {nothing_found} \
              THEN pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int) \
                   OR pg_notify(trim('\"' FROM left('dcb.event', -6)), '') IS NOT NULL END"
    )
}

/// A further part of an SQL condition: no open probe can match an event after the probe's `after`.
/// A probe whose `after` is beyond the last event counts as a match, so that `dcb.append` refuses
/// it.
fn nothing_found(other: &str, can_match: &str) -> String {
    format!(
        "AND (SELECT 1 FROM ( \
                SELECT ($11::bigint[])[o.probe] AS after, ($12::bigint[])[o.probe] AS key{other} \
                  FROM unnest($10::int[]) o(probe)) p \
              WHERE CASE WHEN p.after > ($1::bigint[])[1] THEN 1 ELSE {can_match} END IS NOT NULL \
              LIMIT 1) IS NULL"
    )
}

/// The index entries of the key after that position. A key without type bits stands for every key
/// of its tag.
fn positions_of(key: &str, after: &str) -> String {
    format!(
        "dcb.event_tag t WHERE (t.key, t.position) > ({key}, {after}) \
           AND t.key <= {key} | CASE {key} & 16777215 WHEN 0 THEN 16777215 ELSE 0 END"
    )
}

const IN_ORDER: &str = "ORDER BY t.key, t.position LIMIT";

/// Not NULL if the key occurs after that position.
fn key_occurs(key: &str, after: &str) -> String {
    let places = positions_of(key, after);
    format!("(SELECT t.position FROM {places} {IN_ORDER} 1)")
}

/// [`key_occurs`], but for a probe with two keys: not NULL if an event has both. If both keys occur
/// more than ten times, the result is not NULL either, so that `dcb.append` decides.
fn key_or_pair_occurs() -> String {
    occurs_with("p.key", "p.other", &occurs_with("p.other", "p.key", "1"))
}

/// Not NULL if an event has the key and the other key. If the other key is NULL, the key alone
/// suffices. Otherwise the result is `often` if the key occurs more than ten times.
fn occurs_with(key: &str, other: &str, often: &str) -> String {
    // The low bits of a key hash the type, so they are the same for every tag of an event.
    format!(
        "(SELECT CASE WHEN count(*) = 0 THEN NULL \
                      WHEN {other} IS NULL THEN 1 \
                      WHEN count(*) = 11 THEN {often} \
                      WHEN count((SELECT u.position FROM dcb.event_tag u \
                                   WHERE u.position = t.position \
                                     AND u.key = {other} | (t.key & 16777215))) > 0 THEN 1 END \
            FROM (SELECT t.key, t.position FROM {} {IN_ORDER} 11) t)",
        positions_of(key, "p.after")
    )
}

/// NULLs in place of the event's columns, for the row that has the head.
const NO_EVENT: &str = "NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], \
                            NULL::json, NULL::bytea";

/// Head and events come from one statement, hence from one snapshot. The sessions allow no parallel
/// workers, so the row with the head comes first.
fn read(shape: Shape, backwards: bool) -> String {
    let order = if backwards { "DESC" } else { "ASC" };
    let events = events(shape, EVENT, order);
    format!("{WITH_HEAD} SELECT h.head, {NO_EVENT} FROM h UNION ALL ({events})")
}

fn read_together() -> String {
    let events = short_read_of_each(EVENT);
    format!(
        "{WITH_HEAD} SELECT h.head, {NO_EVENT}, NULL::bigint FROM h UNION ALL ( \
            SELECT {EVENT}, r.number FROM {READS} r CROSS JOIN LATERAL ({events}) e)"
    )
}

fn extents_together() -> String {
    let events = short_read_of_each("e.position");
    format!(
        "{WITH_HEAD} SELECT e.count, e.last, (SELECT h.head FROM h), r.number FROM {READS} r \
            CROSS JOIN LATERAL ( \
                SELECT count(*) AS count, max(e.position) AS last FROM ({events}) e) e"
    )
}

/// The reads of a shared statement. OFFSET 0 makes the server parse the types once per read instead
/// of once per event.
const READS: &str = "(SELECT u.above, u.below, u.most, u.types::text[] AS types, u.tag, u.number \
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) \
         WITH ORDINALITY u(above, below, most, types, tag, number) OFFSET 0)";

/// The events of one of [`READS`]; none if its range is not short.
fn short_read_of_each(columns: &str) -> String {
    format!(
        "SELECT {columns} FROM dcb.event e \
          WHERE (SELECT least(h.head + 1, r.below) - r.above FROM h) <= {SHORT_RANGE} \
            AND e.position > r.above AND e.position < r.below \
            AND (e.type = ANY (r.types)) IS NOT FALSE \
            AND (r.tag IS NULL OR r.tag = ANY (e.tags)) \
          ORDER BY e.position LIMIT r.most"
    )
}

fn extent(shape: Shape) -> String {
    let events = events(shape, "e.position", "ASC");
    format!(
        "{WITH_HEAD} SELECT count(*), max(e.position), (SELECT h.head FROM h) FROM ({events}) e"
    )
}

const WITH_HEAD: &str = "WITH h AS MATERIALIZED (SELECT max(position) AS head FROM dcb.event)";

const WITHIN: &str = "e.position > $1 AND e.position < $2";

fn events(shape: Shape, columns: &str, order: &str) -> String {
    // Without OFFSET 0, a planner that believes the log is empty would start with the events.
    const EVENT_AT_TAG: &str = "CROSS JOIN LATERAL ( \
        SELECT * FROM dcb.event e WHERE e.position = t.position OFFSET 0) e";
    const TAG_WITHIN: &str = "t.position > $1 AND t.position < $2";
    match shape {
        Shape::All => format!(
            "SELECT {columns} FROM dcb.event e WHERE {WITHIN} \
              ORDER BY e.position {order} LIMIT $3"
        ),
        Shape::Type => format!(
            "SELECT {columns} FROM dcb.event e WHERE {} \
              ORDER BY e.type {order}, e.position {order} LIMIT $3",
            type_within("$4")
        ),
        // The subquery takes up to `$3` events of each type, in order. The outer query merges them.
        Shape::Types => format!(
            "SELECT {columns} FROM unnest($4::text[]) u(type) CROSS JOIN LATERAL ( \
                SELECT {columns} FROM dcb.event e WHERE {} \
                 ORDER BY e.type {order}, e.position {order} LIMIT $3) e \
              ORDER BY e.position {order} LIMIT $3",
            type_within("u.type")
        ),
        // The CASE hides the type from the planner, which then looks events up by position.
        Shape::Tag => format!(
            "SELECT {columns} FROM dcb.event_tag t {EVENT_AT_TAG} \
              WHERE t.key = dcb.tag_key($5, $4) AND {TAG_WITHIN} \
                AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END \
              ORDER BY t.position {order} LIMIT $3"
        ),
        // The subquery takes up to `$3` events of each probe, in order. It finds them by the type
        // or, if the probe has tags, by the rarest tag. DISTINCT, because two probes can find the
        // same event.
        Shape::Probes => format!(
            "SELECT DISTINCT ON (e.position) {columns} \
               FROM (SELECT u.type, u.tags::text[] AS tags \
                       FROM unnest($4::text[], $5::text[]) u(type, tags) OFFSET 0) p \
              CROSS JOIN LATERAL ( \
                (SELECT {columns} FROM dcb.event e \
                  WHERE p.tags = '{{}}' AND {} \
                  ORDER BY e.type {order}, e.position {order} LIMIT $3) \
                UNION ALL \
                (SELECT e.* FROM dcb.rarest_tag(p.type, p.tags) d(tag) \
                  CROSS JOIN LATERAL dcb.tag_keys(d.tag, p.type) k(key) \
                  CROSS JOIN LATERAL ( \
                    SELECT {columns} FROM dcb.event_tag t {EVENT_AT_TAG} \
                     WHERE t.key = k.key AND {TAG_WITHIN} \
                       AND CASE WHEN p.type IS NULL OR e.type = p.type THEN e.tags @> p.tags END \
                     ORDER BY t.position {order} LIMIT $3) e \
                  WHERE p.tags <> '{{}}') \
              ) e ORDER BY e.position {order} LIMIT $3",
            type_within("p.type")
        ),
        Shape::TypesInRange => in_short_range("e.type = ANY ($4)", columns, order, "$3"),
        Shape::TagInRange => {
            in_short_range("e.type = $4 AND $5 = ANY (e.tags)", columns, order, "$3")
        }
        // NULL stands for any type. The client checks the tags: checking every probe on the server
        // would cost more than sending the event.
        Shape::ProbesInRange => {
            in_short_range("(e.type = ANY ($4)) IS NOT FALSE", columns, order, "NULL")
        }
    }
}

/// The wanted events, if at most [`SHORT_RANGE`] positions are within the bounds.
fn in_short_range(wanted: &str, columns: &str, order: &str, limit: &str) -> String {
    format!(
        "SELECT {columns} FROM dcb.event e \
          WHERE (SELECT least(h.head + 1, $2) - $1 FROM h) <= {SHORT_RANGE} \
            AND {WITHIN} AND {wanted} \
          ORDER BY e.position {order} LIMIT {limit}"
    )
}

/// The events of one type within the bounds. The comparison is by row. With separate comparisons of
/// type and position, a planner with statistics may scan by position and filter out other types.
fn type_within(event_type: &str) -> String {
    format!(
        "(e.type, e.position) > ({event_type}, $1) AND (e.type, e.position) < ({event_type}, $2)"
    )
}

#[cfg(test)]
mod tests;
