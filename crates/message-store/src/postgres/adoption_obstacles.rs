//! Objects beside a Message DB that an adoption can't keep. It looks for them before it changes anything,
//! and names all of them in one list.

use postgres_store::Schema;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnection;

use super::error::error;
use crate::Error;

/// The columns of Message DB's table. Their order differs between its versions.
const COLUMNS: [(&str, &str); 8] = [
    ("data", "jsonb"),
    ("global_position", "bigint"),
    ("id", "uuid"),
    ("metadata", "jsonb"),
    ("position", "bigint"),
    ("stream_name", "text"),
    ("time", "timestamp without time zone"),
    ("type", "text"),
];

/// Columns that are not Message DB's.
const ACTUAL: &str = "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod) \
      FROM pg_catalog.pg_attribute a \
      JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE n.nspname = $1 AND c.relname = 'messages' AND c.relkind = 'r' \
       AND a.attnum > 0 AND NOT a.attisdropped";

/// Objects that the adoption changes or needs and that are missing.
const MISSING: &str = "\
    SELECT format('relation %s is not a table: give the table of messages this name', c.oid::regclass) \
      FROM pg_catalog.pg_class c \
     WHERE c.relnamespace = to_regnamespace('message_store') AND c.relname = 'messages' \
       AND c.relkind <> 'r' \
    UNION ALL \
    SELECT 'type message is missing: create it as Message DB does' \
     WHERE to_regtype('message_store' || '.message') IS NULL";

/// Objects that use the names of streams or types, whose collation changes, or a summary, which is
/// made again. PostgreSQL rebuilds indexes, constraints and statistics itself.
const DEPENDENTS: &str = "\
    WITH changed AS ( \
        SELECT c.oid, a.attnum::int AS column, format('column %s.%s', c.relname, a.attname) AS name \
          FROM pg_catalog.pg_class c \
          JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('stream_name', 'type') \
         WHERE c.relnamespace = to_regnamespace('message_store') AND c.relname = 'messages' \
        UNION ALL \
        SELECT c.oid, NULL, format('view %s', c.relname) FROM pg_catalog.pg_class c \
         WHERE c.relnamespace = to_regnamespace('message_store') AND c.relkind = 'v' \
           AND c.relname = ANY ($1)), \
    found AS ( \
        SELECT changed.name, r.oid AS rule, r.rulename, r.ev_class, d.classid, d.objid \
          FROM changed \
          JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_class'::regclass \
           AND d.refobjid = changed.oid \
           AND (changed.column IS NULL OR d.refobjsubid = changed.column) \
          LEFT JOIN pg_catalog.pg_rewrite r \
            ON d.classid = 'pg_catalog.pg_rewrite'::regclass AND r.oid = d.objid \
         WHERE d.classid IN ('pg_catalog.pg_rewrite'::regclass, 'pg_catalog.pg_trigger'::regclass, \
                             'pg_catalog.pg_policy'::regclass, 'pg_catalog.pg_proc'::regclass) \
           AND d.objid <> changed.oid \
           AND coalesce(r.ev_class NOT IN (SELECT oid FROM changed WHERE changed.column IS NULL), true)) \
    SELECT DISTINCT format('%s uses %s: drop it before the adoption, and create it again after it', \
           CASE WHEN found.rulename = '_RETURN' \
                THEN pg_describe_object('pg_catalog.pg_class'::regclass, found.ev_class, 0) \
                ELSE pg_describe_object(found.classid, found.objid, 0) END, found.name) \
      FROM found ORDER BY 1";

/// Objects with names that the library needs, and that Message DB does not have.
const TAKEN: &str = "\
    SELECT format('function %s is not Message DB''s: rename or drop it', p.oid::regprocedure) \
      FROM pg_catalog.pg_proc p \
     WHERE p.pronamespace = to_regnamespace('message_store') AND p.proname = ANY ($1) \
    UNION ALL \
    SELECT format('relation %s is not Message DB''s: rename or drop it', c.oid::regclass) \
      FROM pg_catalog.pg_class c \
     WHERE c.relnamespace = to_regnamespace('message_store') \
       AND c.relname IN ('checkpoint', 'deletion') \
     ORDER BY 1";

/// A line for each obstacle.
pub(super) async fn obstacles(
    connection: &mut PgConnection,
    schema: &Schema,
    functions: &[String],
    views: &[String],
) -> Result<Vec<String>, Error> {
    let actual: Vec<(String, String)> = sqlx::query_as(ACTUAL)
        .persistent(false)
        .bind(schema.name())
        .fetch_all(&mut *connection)
        .await
        .map_err(|failed| error(&failed))?;
    let has = |(name, is): &(&str, &str)| actual.iter().any(|(a, b)| a == name && b == is);
    let missing = COLUMNS.iter().filter(|column| !has(column));
    // Without a table there are no columns.
    let missing = missing.filter(|_| !actual.is_empty());
    let mut lines: Vec<String> = missing
        .map(|(name, is)| format!("column messages.{name} is not Message DB's {is}"))
        .collect();
    for (sql, names) in [
        (MISSING, None),
        (DEPENDENTS, Some(views)),
        (TAKEN, Some(functions)),
    ] {
        // The name without quotes, because it stands in a literal.
        let sql = sql.replace("'message_store'", &format!("'{}'", schema.quoted()));
        let statement = sqlx::query_scalar(AssertSqlSafe(sql)).persistent(false);
        let statement = match names {
            Some(names) => statement.bind(names),
            None => statement,
        };
        let found: Vec<String> = statement
            .fetch_all(&mut *connection)
            .await
            .map_err(|failed| error(&failed))?;
        lines.extend(found);
    }
    Ok(lines)
}
