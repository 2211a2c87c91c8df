-- The catalog's description of the objects in schema $1: columns, indexes, functions, views.
SELECT 'column' AS kind, c.relname || '.' || a.attname AS name,
       concat_ws(' ', a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull,
                 pg_get_expr(d.adbin, d.adrelid)) AS definition
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
 WHERE n.nspname = $1 AND c.relkind IN ('r', 'c')
UNION ALL
SELECT 'index', x.relname, concat_ws(' ', pg_get_indexdef(i.indexrelid), i.indisvalid)
  FROM pg_catalog.pg_index i
  JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = x.relnamespace
 WHERE n.nspname = $1
UNION ALL
SELECT 'function', p.proname,
       concat_ws(' ', pg_get_function_arguments(p.oid), pg_get_function_result(p.oid),
                 p.provolatile, md5(p.prosrc))
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
 WHERE n.nspname = $1
UNION ALL
SELECT 'view', v.relname, md5(pg_get_viewdef(v.oid))
  FROM pg_catalog.pg_class v
  JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace
 WHERE n.nspname = $1 AND v.relkind = 'v'
