//! The SQL that the store sends, made once for the log's schema. Values are always bound.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::selection::{SHORT_RANGE, Shape};

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) append: SqlStr,
    /// For a batch of which nothing is likely to be refused.
    append_optimistic: [SqlStr; Look::ALL.len()],
    /// As those, for a lone event.
    append_lone: [SqlStr; Look::OF_LONE.len()],
    /// As `append`, with commands.
    pub(super) append_with_commands: SqlStr,
    pub(super) commands: SqlStr,
    pub(super) head: SqlStr,
    pub(super) exists: SqlStr,
    pub(super) tracked: SqlStr,
    pub(super) by_id: SqlStr,
    pub(super) positions_by_id: SqlStr,
    pub(super) clear: SqlStr,
    /// Several reads of short ranges; `$1` to `$5` have an element for each: the bounds of the
    /// position, both exclusive; the limit, NULL for none; the types as an array literal, NULL for
    /// any; one tag, NULL for any. Before the events comes the row with the head, as in
    /// [`Statements::read`]; after an event's columns comes its read's number, from 1. Of a range
    /// that is not short there is no event.
    pub(super) read_together: SqlStr,
    pub(super) extents_together: SqlStr,
    read: [[SqlStr; 2]; Shape::ALL.len()],
    extent: [SqlStr; Shape::COUNTED.len()],
}

/// What an optimistic append looks for. To look for more costs a lone append more, found or not: the
/// server sets up what it may not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing: no probe is open.
    Nothing,
    /// An event with one key of a probe.
    Keys,
    /// An event with both keys of a probe.
    Pairs,
}

impl Look {
    const ALL: [Self; 3] = [Self::Nothing, Self::Keys, Self::Pairs];
    /// Those with a statement of its own for a lone event.
    const OF_LONE: [Self; 2] = [Self::Nothing, Self::Keys];
}

/// The columns of an event, in the order that [`super::row`] decodes them.
const EVENT: &str = "e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data";

impl Statements {
    /// The statements for the log in this schema, which is a quoted identifier.
    /// `pooled` appends tell their own session and when their transaction began, besides.
    pub(super) fn new(schema: &str, pooled: bool) -> Self {
        // Shared, so that a clone is cheap. Nothing but the schema's name is put in.
        let sql = |text: String| -> SqlStr {
            let text: Arc<str> = text.replace("dcb.", &format!("{schema}.")).into();
            AssertSqlSafe(text).into_sql_str()
        };
        Self {
            append: sql(append(pooled, false)),
            append_optimistic: Look::ALL.map(|look| sql(append_optimistic(look))),
            append_lone: Look::OF_LONE.map(|look| sql(append_lone(look))),
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
            // One message, so one transaction. The lock comes first, as in dcb.append. Deleted rows
            // would be in the way of every look for the head until they are vacuumed.
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

    /// Inserts what `append` would, if the event of `$1` and `$2` is the log's last and what is looked
    /// for is not there; whether it did is told by the number of rows inserted, here the events, and 0
    /// if not. `$3` to `$9` are the events and their tags; with a look, `$10` are the probes that are
    /// open, `$11` and `$12` after and key of all probes; with pairs, `$13` is another key that an
    /// event of the probe has, NULL where there is none.
    pub(super) fn append_optimistic(&self, look: Look) -> SqlStr {
        self.append_optimistic[look as usize].clone()
    }

    /// As [`Statements::append_optimistic`], for one event that has tags and no more than one probe
    /// that is open; `None` where that look has no such statement. The rows counted are its tags.
    /// `$1` to `$7` are single values, `$8` the keys of the event's tags; with a look, `$9` and `$10`
    /// are the probe's after and key.
    pub(super) fn append_lone(&self, look: Look) -> Option<SqlStr> {
        self.append_lone.get(look as usize).cloned()
    }

    /// Reads events, a row each. `$1` and `$2` bound the position, both exclusive; `$3` is the
    /// limit, NULL for none; `$4` and `$5` are what the shape needs. Before the events comes a row
    /// with nothing but a position, the head of the same snapshot, NULL of an empty log.
    pub(super) fn read(&self, shape: Shape, backwards: bool) -> SqlStr {
        self.read[shape as usize][usize::from(backwards)].clone()
    }

    /// Counts events, with the last of them and the head of the same snapshot; parameters as in
    /// [`Statements::read`].
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

/// The statement sees the log as it was before it got the lock. So it does not look for the last
/// event: where others were appended since, the primary key has their positions and refuses these.
/// It does not wait for the lock, with locks on the tables already: then another session appends,
/// and nothing is written.
///
/// The arrays are taken apart in a list of columns: a function in FROM would have its rows stored
/// before the first is read, which costs a batch of 100 events some 25 us.
fn append_optimistic(look: Look) -> String {
    let nothing_found = match look {
        Look::Nothing => String::new(),
        Look::Keys => nothing_found("", &key_occurs("p.key", "p.after")),
        Look::Pairs => nothing_found(", ($13::bigint[])[o.probe] AS other", &key_or_pair_occurs()),
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

/// As [`append_optimistic`], with nothing to take apart but the tags' keys. What the server need not
/// set up counts more here than in a batch: a lone append waits for the disk before, and then finds
/// the processor's caches cold.
fn append_lone(look: Look) -> String {
    let nothing_found = match look {
        Look::Keys => format!(
            "AND $9::bigint <= $1::bigint AND {} IS NULL",
            key_occurs("$10::bigint", "$9::bigint")
        ),
        Look::Nothing | Look::Pairs => String::new(),
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

/// Whether the last event is this one and nothing is found. If so, whoever listens is notified.
fn may_insert(last_position: &str, last_id: &str, nothing_found: &str) -> String {
    format!(
        "CASE WHEN pg_try_advisory_xact_lock(1145262642, 'dcb.event'::regclass::oid::int) \
                   AND (SELECT e.id FROM dcb.event e WHERE e.position = {last_position}) \
                       = {last_id} {nothing_found} \
              THEN pg_try_advisory_xact_lock(1145262644, 'dcb.event'::regclass::oid::int) \
                   OR pg_notify(trim('\"' FROM left('dcb.event', -6)), '') IS NOT NULL END"
    )
}

/// Whether no probe that is open can have an event after its `after`.
fn nothing_found(other: &str, can_match: &str) -> String {
    format!(
        "AND (SELECT 1 FROM ( \
                SELECT ($11::bigint[])[o.probe] AS after, ($12::bigint[])[o.probe] AS key{other} \
                  FROM unnest($10::int[]) o(probe)) p \
              WHERE CASE WHEN p.after > ($1::bigint[])[1] THEN 1 ELSE {can_match} END IS NOT NULL \
              LIMIT 1) IS NULL"
    )
}

/// The places where the key occurs after that position, in order; a key without a type stands
/// for all that the tag can have.
fn places_of(key: &str, after: &str) -> String {
    format!(
        "dcb.event_tag t WHERE (t.key, t.position) > ({key}, {after}) \
           AND t.key <= {key} | CASE {key} & 16777215 WHEN 0 THEN 16777215 ELSE 0 END"
    )
}

const IN_ORDER: &str = "ORDER BY t.key, t.position LIMIT";

/// Not NULL where the key occurs after that position.
fn key_occurs(key: &str, after: &str) -> String {
    let places = places_of(key, after);
    format!("(SELECT t.position FROM {places} {IN_ORDER} 1)")
}

/// As [`key_occurs`]; of a probe with two keys, where an event has both. One of them must occur no
/// more than ten times: else there may be such an event, and `dcb.append` has to look.
fn key_or_pair_occurs() -> String {
    occurs_with("p.key", "p.other", &occurs_with("p.other", "p.key", "1"))
}

/// Not NULL where the key occurs with the other one; `often` where it occurs more than ten times.
fn occurs_with(key: &str, other: &str, often: &str) -> String {
    // The low bits of a key are the type, the same for every tag of an event.
    format!(
        "(SELECT CASE WHEN count(*) = 0 THEN NULL \
                      WHEN {other} IS NULL THEN 1 \
                      WHEN count(*) = 11 THEN {often} \
                      WHEN count((SELECT u.position FROM dcb.event_tag u \
                                   WHERE u.position = t.position \
                                     AND u.key = {other} | (t.key & 16777215))) > 0 THEN 1 END \
            FROM (SELECT t.key, t.position FROM {} {IN_ORDER} 11) t)",
        places_of(key, "p.after")
    )
}

/// What stands for an event's columns in the row with the head.
const NOTHING_ELSE: &str = "NULL::timestamptz, NULL::uuid, NULL::text, NULL::text[], \
                            NULL::json, NULL::bytea";

/// The head and the events are branches of one statement, so of one snapshot; a server that may not
/// use parallel workers answers them in turn.
fn read(shape: Shape, backwards: bool) -> String {
    let order = if backwards { "DESC" } else { "ASC" };
    let events = events(shape, EVENT, order);
    format!("{WITH_HEAD} SELECT h.head, {NOTHING_ELSE} FROM h UNION ALL ({events})")
}

fn read_together() -> String {
    let events = short_read_of_each(EVENT);
    format!(
        "{WITH_HEAD} SELECT h.head, {NOTHING_ELSE}, NULL::bigint FROM h UNION ALL ( \
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

/// The types are taken apart once for each read, which OFFSET 0 sees to, not for each event.
const READS: &str = "(SELECT u.above, u.below, u.most, u.types::text[] AS types, u.tag, u.number \
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) \
         WITH ORDINALITY u(above, below, most, types, tag, number) OFFSET 0)";

/// The events of one of [`READS`], where its range is short.
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
    // OFFSET 0 keeps the planner, which may know the log as empty, from beginning with the events.
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
        // Each type finds its own events in order, no more than the limit.
        Shape::Types => format!(
            "SELECT {columns} FROM unnest($4::text[]) u(type) CROSS JOIN LATERAL ( \
                SELECT {columns} FROM dcb.event e WHERE {} \
                 ORDER BY e.type {order}, e.position {order} LIMIT $3) e \
              ORDER BY e.position {order} LIMIT $3",
            type_within("u.type")
        ),
        // The CASE is for the planner: it hides the type, so that an event is found by position.
        Shape::Tag => format!(
            "SELECT {columns} FROM dcb.event_tag t {EVENT_AT_TAG} \
              WHERE t.key = dcb.tag_key($5, $4) AND {TAG_WITHIN} \
                AND CASE WHEN e.type = $4 THEN $5 = ANY (e.tags) END \
              ORDER BY t.position {order} LIMIT $3"
        ),
        // Each probe finds its own events in order, no more than the limit: by its type, or by the
        // rarest of its tags. Two probes can find the same event.
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
        // NULL stands for any type. To look through the probes for each event would cost more than
        // to send it.
        Shape::ProbesInRange => {
            in_short_range("(e.type = ANY ($4)) IS NOT FALSE", columns, order, "NULL")
        }
    }
}

/// The wanted events, if the bounds have no more than [`SHORT_RANGE`] positions between them.
fn in_short_range(wanted: &str, columns: &str, order: &str, limit: &str) -> String {
    format!(
        "SELECT {columns} FROM dcb.event e \
          WHERE (SELECT least(h.head + 1, $2) - $1 FROM h) <= {SHORT_RANGE} \
            AND {WITHIN} AND {wanted} \
          ORDER BY e.position {order} LIMIT {limit}"
    )
}

/// The events of one type within the bounds. Compared as rows: of type and position on their own, a
/// planner with statistics makes a walk by position that leaves out the other types.
fn type_within(event_type: &str) -> String {
    format!(
        "(e.type, e.position) > ({event_type}, $1) AND (e.type, e.position) < ({event_type}, $2)"
    )
}

#[cfg(test)]
mod tests;
