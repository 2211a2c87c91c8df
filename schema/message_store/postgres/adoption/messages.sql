-- Changes Message DB's table to this store's, without rewriting a message. The caller has locked the
-- table. Both indexes are built again, because this store orders names by bytes. The views depend on
-- the columns, so they are dropped here, and their grants are kept for view_grants.
CREATE TEMPORARY TABLE view_grant AS
SELECT v.relname AS view, g.grantee, g.privilege_type AS privilege, g.is_grantable
  FROM pg_catalog.pg_class t
  JOIN pg_catalog.pg_class v ON v.relnamespace = t.relnamespace AND v.relkind = 'v'
 CROSS JOIN LATERAL aclexplode(v.relacl) g
 WHERE t.oid = 'message_store.messages'::regclass AND g.grantee <> v.relowner;

DROP VIEW IF EXISTS
    message_store.type_summary, message_store.stream_summary,
    message_store.stream_type_summary, message_store.type_stream_summary,
    message_store.category_type_summary, message_store.type_category_summary;

DROP INDEX IF EXISTS message_store.messages_stream, message_store.messages_category;

ALTER TABLE message_store.messages
    ALTER COLUMN stream_name TYPE text COLLATE "C",
    ALTER COLUMN type TYPE text COLLATE "C",
    ALTER COLUMN time SET DEFAULT (now() AT TIME ZONE 'utc'),
    ALTER COLUMN id SET DEFAULT gen_random_uuid();
