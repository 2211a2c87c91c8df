//! The objects of a schema, as the server prints them.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Row as _};

const OBJECTS: &str = include_str!("objects.sql");

/// An object of a schema, printed without the schema's name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Object {
    kind: String,
    name: String,
    definition: String,
}

/// A query for one digest of the text `$4` and all objects. The other parameters are those of
/// `objects.sql`.
pub(super) fn digest() -> String {
    format!(
        "SELECT encode(sha256(convert_to($4 || coalesce(string_agg( \
                    concat_ws(' ', kind, name, definition), E'\\n' \
                    ORDER BY kind COLLATE \"C\", name COLLATE \"C\", definition COLLATE \"C\" \
                ), ''), 'UTF8')), 'hex') FROM ({OBJECTS}) printed"
    )
}

/// The objects of a schema. `prefixes` are two spellings of its name with a dot: in the SQL files,
/// and in the server's output.
pub(super) async fn print(
    transaction: &mut PgConnection,
    schema: &str,
    prefixes: [&str; 2],
) -> Result<Vec<Object>, sqlx::Error> {
    let rows = sqlx::query(AssertSqlSafe(OBJECTS))
        .persistent(false)
        .bind(schema)
        .bind(prefixes[0])
        .bind(prefixes[1])
        .fetch_all(transaction)
        .await?;
    let objects = rows.iter().map(|row| {
        Ok(Object {
            kind: row.try_get(0)?,
            name: row.try_get(1)?,
            definition: row.try_get(2)?,
        })
    });
    objects.collect()
}

/// A line for each invalid index of a schema, sorted. A `CREATE INDEX CONCURRENTLY` that failed leaves
/// one, and a `REINDEX CONCURRENTLY` leaves one beside the valid index. Each write pays for it.
pub(super) async fn invalid_indexes(
    transaction: &mut PgConnection,
    schema: &str,
) -> Result<Vec<String>, sqlx::Error> {
    const INVALID: &str = "SELECT format('index %s is invalid: reindex or drop it', x.relname) \
          FROM pg_catalog.pg_index i \
          JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid \
          JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace \
         WHERE n.nspname = $1 AND NOT i.indisvalid ORDER BY x.relname";
    sqlx::query_scalar(INVALID)
        .persistent(false)
        .bind(schema)
        .fetch_all(transaction)
        .await
}

/// A line for each object of `fresh` that is missing in `installed` or differs there, sorted.
pub(super) fn differences(fresh: &[Object], installed: &[Object]) -> Vec<String> {
    let differing = fresh.iter().filter(|object| !installed.contains(object));
    let mut lines: Vec<String> = differing
        .map(|object| {
            let exists = installed
                .iter()
                .any(|other| (&other.kind, &other.name) == (&object.kind, &object.name));
            let difference = if exists {
                "differs from what was installed"
            } else {
                "is missing"
            };
            format!("{} {} {difference}", object.kind, object.name)
        })
        .collect();
    lines.sort();
    lines
}
