-- Writes a message and returns its position. An expected version of NULL allows any version, and -1
-- means that the stream must have no messages.
--
-- The lock is taken before the statements that read, so that under READ COMMITTED they see everything
-- written to the category before.
CREATE FUNCTION message_store.write_message(
    id varchar,
    stream_name varchar,
    type varchar,
    data jsonb,
    metadata jsonb DEFAULT NULL,
    expected_version bigint DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    lock_key      bigint;
    announced     boolean;
    version       bigint;
    next_position bigint;
BEGIN
    lock_key := message_store.acquire_lock(write_message.stream_name);
    announced := message_store.announce() IS NOT NULL;
    version := coalesce(message_store.stream_version(write_message.stream_name), -1);
    IF expected_version <> version THEN
        RAISE EXCEPTION 'Wrong expected version: % (Stream: %, Stream Version: %)',
            expected_version, write_message.stream_name, version;
    END IF;
    next_position := version + 1;
    INSERT INTO message_store.messages (id, stream_name, position, type, data, metadata)
    VALUES (write_message.id::uuid, write_message.stream_name, next_position, write_message.type,
            write_message.data, write_message.metadata);
    IF message_store.setting_is_on('debug') OR message_store.setting_is_on('debug_write') THEN
        RAISE NOTICE '» write_message';
        RAISE NOTICE 'id: %', write_message.id;
        RAISE NOTICE 'stream_name: %', write_message.stream_name;
        RAISE NOTICE 'type: %', write_message.type;
        RAISE NOTICE 'data: %', write_message.data;
        RAISE NOTICE 'metadata: %', write_message.metadata;
        RAISE NOTICE 'expected_version: %', expected_version;
        RAISE NOTICE 'position: %', next_position;
    END IF;
    RETURN next_position;
END
$$;
