-- PostgreSQL compresses values above about 2 KiB. Use lz4 if the server supports it, as it is several
-- times faster than pglz. PostgreSQL 13 can't parse the statement, so it is a text.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 140000 THEN
        EXECUTE 'ALTER TABLE message_store.messages
            ALTER COLUMN data SET COMPRESSION lz4,
            ALTER COLUMN metadata SET COMPRESSION lz4';
    END IF;
EXCEPTION
    WHEN feature_not_supported THEN NULL; -- keep pglz
END
$$;
