-- What this server prints for the columns, indexes, functions and views of schema $1. $2 is the
-- schema's name as the sources of functions spell it, $3 as the server prints it, both with the
-- point. Without them, the same objects in two schemas have the same definition.
--
-- The objects are those that depend on the schema. The catalogs have no index by schema, so a search in
-- them takes as long as all schemas of the database together.
WITH owned AS MATERIALIZED (
    SELECT d.classid, d.objid
      FROM pg_catalog.pg_namespace n
      JOIN pg_catalog.pg_depend d
        ON d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = n.oid
     WHERE n.nspname = $1),
relation AS MATERIALIZED (
    SELECT c.oid, c.relname, c.relkind
      FROM owned
      JOIN pg_catalog.pg_class c ON c.oid = owned.objid
     WHERE owned.classid = 'pg_catalog.pg_class'::regclass
    UNION ALL
    -- A row type is the relation of its type, and only the type depends on the schema.
    SELECT c.oid, c.relname, c.relkind
      FROM owned
      JOIN pg_catalog.pg_type t ON t.oid = owned.objid
      JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
     WHERE owned.classid = 'pg_catalog.pg_type'::regclass)
SELECT o.kind, o.name::text, replace(replace(o.definition, $2, ''), $3, '') AS definition
  FROM (
SELECT 'column' AS kind, c.relname || '.' || a.attname AS name,
       concat_ws(' ', format_type(a.atttypid, a.atttypmod), 'COLLATE ' || l.collname,
                 CASE WHEN a.attnotnull THEN 'NOT NULL' END,
                 -- From version 14 on, the server prints this call as it was written. A dump of an
                 -- older server has the function's name, and the call is restored as that.
                 replace(pg_get_expr(d.adbin, d.adrelid),
                         '(now() AT TIME ZONE ''utc''::text)', 'timezone(''utc''::text, now())'),
                 -- The order of columns matters only for a row type.
                 CASE WHEN c.relkind = 'c' THEN a.attnum END) AS definition
  FROM relation c
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation AND l.collname <> 'default'
 WHERE c.relkind IN ('r', 'c')
UNION ALL
SELECT 'index', x.relname, concat_ws(' ', pg_get_indexdef(i.indexrelid, 0, true), i.indisvalid)
  FROM relation c
  JOIN pg_catalog.pg_index i ON i.indrelid = c.oid
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
UNION ALL
SELECT 'function', p.proname,
       concat_ws(' ', pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
                 p.provolatile, p.proconfig, p.prosrc)
  FROM owned
  JOIN pg_catalog.pg_proc p ON p.oid = owned.objid
 WHERE owned.classid = 'pg_catalog.pg_proc'::regclass
UNION ALL
SELECT 'view', c.relname, pg_get_viewdef(c.oid)
  FROM relation c
 WHERE c.relkind = 'v') o
