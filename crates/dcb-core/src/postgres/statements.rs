//! The SQL that the store sends, made once for the log's schema. Values are always bound.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, SqlSafeStr as _, SqlStr};

use super::selection::Shape;

#[derive(Debug)]
pub(super) struct Statements {
    pub(super) append: SqlStr,
    pub(super) head: SqlStr,
    pub(super) exists: SqlStr,
    pub(super) tracked: SqlStr,
    pub(super) by_id: SqlStr,
    pub(super) positions_by_id: SqlStr,
    read: [[SqlStr; 2]; 5],
    count: [SqlStr; 5],
}

/// The columns of an event, in the order that [`super::row`] decodes them.
const EVENT: &str = "e.position, e.recorded_at, e.id, e.type, e.tags, e.metadata, e.data";

impl Statements {
    /// The statements for the log in this schema, which is a quoted identifier.
    pub(super) fn new(schema: &str) -> Self {
        let shapes = [
            Shape::All,
            Shape::Type,
            Shape::Types,
            Shape::Tag,
            Shape::Probes,
        ];
        // Shared, so that a clone is cheap. Nothing but the schema's name is put in.
        let sql = |text: String| -> SqlStr {
            let text: Arc<str> = text.replace("dcb.", &format!("{schema}.")).into();
            AssertSqlSafe(text).into_sql_str()
        };
        Self {
            append: sql("SELECT head, refused, reasons, positions FROM dcb.append(\
                         $1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15)"
                .to_owned()),
            head: sql("SELECT max(position) FROM dcb.event".to_owned()),
            exists: sql(
                "SELECT EXISTS (SELECT FROM unnest($1::text[], $2::text[]) p(type, tags) \
                         CROSS JOIN LATERAL dcb.first_match(p.type, p.tags::text[], 0) m(position) \
                         WHERE m.position IS NOT NULL)"
                    .to_owned(),
            ),
            tracked: sql("SELECT position FROM dcb.tracking WHERE source = $1".to_owned()),
            by_id: sql(format!(
                "SELECT NULL::bigint, {EVENT} FROM dcb.event e WHERE e.id = ANY ($1)"
            )),
            positions_by_id: sql("SELECT e.id::text, e.position FROM dcb.event e \
                                  WHERE e.id = ANY ($1)"
                .to_owned()),
            read: shapes.map(|shape| [false, true].map(|backwards| sql(read(shape, backwards)))),
            count: shapes.map(|shape| sql(count(shape))),
        }
    }

    /// Reads events, a row each. `$1` and `$2` bound the position, both exclusive; `$3` is the
    /// limit, NULL for none; `$4` and `$5` are what the shape needs. The first column is the head
    /// of the same snapshot; where no event matches there is one row with nothing else in it.
    pub(super) fn read(&self, shape: Shape, backwards: bool) -> SqlStr {
        self.read[shape as usize][usize::from(backwards)].clone()
    }

    /// Counts events; parameters as in [`Statements::read`].
    pub(super) fn count(&self, shape: Shape) -> SqlStr {
        self.count[shape as usize].clone()
    }
}

fn read(shape: Shape, backwards: bool) -> String {
    let selected = selected(shape, EVENT, if backwards { "DESC" } else { "ASC" });
    // A left join to one row: a nested loop, which keeps the order of its inner side.
    format!(
        "SELECT h.head, {EVENT} \
           FROM (SELECT max(position) AS head FROM dcb.event) h LEFT JOIN LATERAL ({selected}) e ON true"
    )
}

fn count(shape: Shape) -> String {
    format!(
        "SELECT count(*) FROM ({}) e",
        selected(shape, "e.position", "ASC")
    )
}

fn selected(shape: Shape, columns: &str, order: &str) -> String {
    const WITHIN: &str = "e.position > $1 AND e.position < $2";
    // OFFSET 0 keeps the planner, which may know the log as empty, from beginning with the events.
    const EVENT_AT_TAG: &str = "CROSS JOIN LATERAL ( \
        SELECT * FROM dcb.event e WHERE e.position = t.position OFFSET 0) e";
    const TAG_WITHIN: &str = "t.position > $1 AND t.position < $2";
    match shape {
        Shape::All => format!(
            "SELECT {columns} FROM dcb.event e WHERE {WITHIN} ORDER BY e.position {order} LIMIT $3"
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
    }
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
