-- The role that clients of Message DB log in as, and its rights. A role belongs to the whole
-- server. If the installer may not create it, the server's administrator creates it and runs the
-- statements below.
DO $$
BEGIN
    IF to_regrole('message_store') IS NULL THEN
        CREATE ROLE message_store LOGIN;
    END IF;
EXCEPTION
    -- Another database on this server created the role at the same time.
    WHEN duplicate_object OR unique_violation THEN NULL;
    WHEN insufficient_privilege THEN NULL;
END
$$;

DO $$
BEGIN
    -- If another database created the role a moment ago, the catalog cache of this session may still
    -- say that there is none. The first lock on a table makes the session read what has changed.
    PERFORM FROM pg_catalog.pg_tablespace;
    IF to_regrole('message_store') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA message_store TO message_store;
        GRANT SELECT, INSERT ON message_store.messages TO message_store;
        GRANT USAGE, SELECT ON SEQUENCE message_store.messages_global_position_seq TO message_store;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA message_store TO message_store;
        GRANT SELECT ON
            message_store.type_summary, message_store.stream_summary,
            message_store.stream_type_summary, message_store.type_stream_summary,
            message_store.category_type_summary, message_store.type_category_summary
            TO message_store;
    END IF;
END
$$;
