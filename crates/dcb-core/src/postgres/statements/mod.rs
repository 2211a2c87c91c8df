//! The SQL that the store sends, built once for the log's schema. Values are always bound.
//!
//! The statements are files in `schema/postgres/queries`. Reads are built from parts, one for each
//! [`Shape`], and `tests/golden` has their texts.
//!
//! # The INSERT
//!
//! `insert.sql` and `insert_by_key.sql` append without reading the head. A writer uses them after a
//! run of uncontended batches. The statement names, by position and id, the event that the writer
//! believes to be the last. These invariants keep it safe:
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
//! Tested by `optimistic.rs` and `append_statements.rs`. `appends.rs` and `grown.rs` test the
//! server's plans.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::selection::{SHORT_RANGE, Shape};

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) append: SqlStr,
    pub(super) append_and_keep: SqlStr,
    pub(super) insert: SqlStr,
    pub(super) insert_by_key: SqlStr,
    pub(super) commands: SqlStr,
    pub(super) head: SqlStr,
    /// The head as a number, 0 if the log is empty.
    pub(super) progress: SqlStr,
    /// Position and id of the last event up to `$1`, and of the last event of the log.
    pub(super) last: SqlStr,
    pub(super) exists: SqlStr,
    pub(super) tracked: SqlStr,
    pub(super) all_tracked: SqlStr,
    pub(super) by_id: SqlStr,
    pub(super) positions_by_id: SqlStr,
    pub(super) clear: SqlStr,
    pub(super) load_state: SqlStr,
    pub(super) open_state: SqlStr,
    pub(super) store_state: SqlStr,
    /// Several forward reads of short ranges. `$1` to `$6` are arrays with an element per read: the
    /// two bounds of the position, both exclusive; the limit, NULL for none; the types as an array
    /// literal, NULL for any; one tag, NULL for any; the position whose id to return, NULL for none.
    ///
    /// The first row has the head, as in [`Statements::read`]. Its `data` has 16 bytes for each read:
    /// the id at that position, zeros for none. Each further row is an event, followed by the number
    /// of its read, from 1. A read whose range is not short gets no events.
    pub(super) read_together: SqlStr,
    read: [[SqlStr; 2]; Shape::ALL.len()],
    extent: [SqlStr; Shape::COUNTED.len()],
}

/// The columns of an event, in the order that [`super::row`] decodes them.
const EVENT: &str = "e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data";

/// The text of a file with statements.
macro_rules! query {
    ($file:literal) => {
        include_str!(concat!("../../../schema/postgres/queries/", $file))
    };
}

impl Statements {
    /// Builds the statements for the log in this schema, a quoted identifier. With `pooled`,
    /// appends also return the server process and the start time of their transaction.
    pub(super) fn new(schema: &str, pooled: bool) -> Self {
        let (append, append_and_keep) = if pooled {
            (
                query!("pooled_append.sql"),
                query!("pooled_append_and_keep.sql"),
            )
        } else {
            (query!("append.sql"), query!("append_and_keep.sql"))
        };
        let sql = |text: &str| statement(text, schema);
        Self {
            append: sql(append),
            append_and_keep: sql(append_and_keep),
            insert: sql(query!("insert.sql")),
            insert_by_key: sql(query!("insert_by_key.sql")),
            commands: sql(query!("commands.sql")),
            head: sql(LAST_EVENT),
            progress: sql("SELECT coalesce(max(position), 0) FROM dcb.event"),
            last: sql(&format!(
                "{WITH_HEAD} SELECT e.position, e.id, h.head, h.id FROM h \
                   LEFT JOIN dcb.event e ON e.position = least(h.head, $1)"
            )),
            exists: sql(query!("exists.sql")),
            tracked: sql("SELECT position FROM dcb.tracking WHERE source = $1"),
            all_tracked: sql(
                "SELECT source, position FROM dcb.tracking ORDER BY source COLLATE \"C\"",
            ),
            by_id: sql(query!("events_by_id.sql")),
            positions_by_id: sql(query!("positions_by_id.sql")),
            clear: sql(query!("clear.sql")),
            load_state: sql(query!("load_state.sql")),
            open_state: sql(query!("open_state.sql")),
            store_state: sql(query!("store_state.sql")),
            read_together: sql(&read_together()),
            read: Shape::ALL
                .map(|shape| [false, true].map(|backwards| sql(&read(shape, backwards)))),
            extent: Shape::COUNTED.map(|shape| sql(&extent(shape))),
        }
    }

    /// Reads events, one per row. `$1` and `$2` bound the position, both exclusive; `$3` is the
    /// limit, NULL for none; `$4` and `$5` depend on the shape. The first row has the position and id
    /// of the last event of the same snapshot, NULL if the log is empty. Its `data` is the id of the
    /// event at the bound where the read starts, NULL for none.
    pub(super) fn read(&self, shape: Shape, backwards: bool) -> SqlStr {
        self.read[shape as usize][usize::from(backwards)].clone()
    }

    /// Counts events. The row also has position and id of the last of them, and of the last event of
    /// the same snapshot. The parameters are those of [`Statements::read`].
    pub(super) fn extent(&self, shape: Shape) -> SqlStr {
        self.extent[shape as usize].clone()
    }
}

/// The statement in a file: its text without comments, for the log in this schema.
fn statement(text: &str, schema: &str) -> SqlStr {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"));
    let text = lines.collect::<Vec<_>>().join("\n");
    // An `Arc`, so that a clone is cheap. The SQL is safe: only the schema's name is inserted.
    let text: Arc<str> = text.replace("dcb.", &format!("{schema}.")).into();
    AssertSqlSafe(text).into_sql_str()
}

/// The row that has the head: `data` is an expression. A row even if the log is empty.
fn head_row(data: &str, more: &str) -> String {
    format!(
        "SELECT h.head, NULL::timestamptz, h.id, NULL::text, NULL::text[], NULL::json, {data}{more} \
           FROM (SELECT) one LEFT JOIN h ON true"
    )
}

/// Head and events come from one statement, hence from one snapshot. The sessions allow no parallel
/// workers, so the row with the head comes first.
fn read(shape: Shape, backwards: bool) -> String {
    let (order, start) = if backwards {
        ("DESC", "$2")
    } else {
        ("ASC", "$1")
    };
    let events = events(shape, EVENT, order);
    // A reader that has caught up starts at the head. One that starts at no event looks nothing up.
    let id_at_start = format!(
        "uuid_send(CASE WHEN {start} = h.head THEN h.id \
            WHEN {start} > 0 AND {start} < h.head \
            THEN (SELECT e.id FROM dcb.event e WHERE e.position = {start}) END)"
    );
    let head = head_row(&id_at_start, "");
    format!("{WITH_HEAD} {head} UNION ALL ({events})")
}

fn read_together() -> String {
    let ids_at_starts = "(SELECT string_agg(uuid_send(coalesce( \
            (SELECT e.id FROM dcb.event e WHERE e.position = a.after), \
            '00000000-0000-0000-0000-000000000000')), ''::bytea ORDER BY a.number) \
           FROM unnest($6::bigint[]) WITH ORDINALITY a(after, number))";
    let head = head_row(ids_at_starts, ", NULL::bigint");
    // OFFSET 0 makes the server parse the types once per read instead of once per event.
    format!(
        "{WITH_HEAD} {head} UNION ALL ( \
         SELECT {EVENT}, r.number \
           FROM (SELECT u.above, u.below, u.most, u.types::text[] AS types, u.tag, u.number \
                   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[]) \
                        WITH ORDINALITY u(above, below, most, types, tag, number) OFFSET 0) r \
          CROSS JOIN LATERAL ( \
            SELECT {EVENT} FROM dcb.event e \
             WHERE (SELECT least(h.head + 1, r.below) - r.above FROM h) <= {SHORT_RANGE} \
               AND e.position > r.above AND e.position < r.below \
               AND (e.type = ANY (r.types)) IS NOT FALSE \
               AND (r.tag IS NULL OR r.tag = ANY (e.tags)) \
             ORDER BY e.position LIMIT r.most) e)"
    )
}

fn extent(shape: Shape) -> String {
    let events = events(shape, "e.position", "ASC");
    format!(
        "{WITH_HEAD} SELECT n.count, n.last, \
                (SELECT e.id FROM dcb.event e WHERE e.position = n.last), h.head, h.id \
           FROM (SELECT count(*) AS count, max(e.position) AS last FROM ({events}) e) n \
           LEFT JOIN h ON true"
    )
}

const LAST_EVENT: &str = "SELECT position, id FROM dcb.event ORDER BY position DESC LIMIT 1";

const WITH_HEAD: &str = "WITH h AS MATERIALIZED ( \
    SELECT position AS head, id FROM dcb.event ORDER BY position DESC LIMIT 1)";

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
