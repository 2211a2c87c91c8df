-- Values of more than about 2 KiB are compressed: by lz4 where the server was built with it, which
-- costs a writer a fraction of what pglz costs.
DO $$
BEGIN
    IF current_setting('server_version_num')::int >= 140000 THEN
        ALTER TABLE message_store.messages
            ALTER COLUMN data SET COMPRESSION lz4,
            ALTER COLUMN metadata SET COMPRESSION lz4;
    END IF;
EXCEPTION
    WHEN feature_not_supported THEN NULL; -- pglz it is
END
$$;
