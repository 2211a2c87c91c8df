-- The messages of a stream from a position on, in order. NULL means the default, and a batch_size of
-- -1 means no limit. The condition is SQL that becomes part of the statement, so it requires the
-- setting sql_condition.
CREATE FUNCTION message_store.get_stream_messages(
    stream_name varchar,
    "position" bigint DEFAULT 0,
    batch_size bigint DEFAULT 1000,
    condition varchar DEFAULT NULL
) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first_position bigint := coalesce("position", 0);
    row_limit      bigint := nullif(coalesce(batch_size, 1000), -1);
BEGIN
    IF message_store.is_category(get_stream_messages.stream_name) THEN
        RAISE EXCEPTION 'Must be a stream name: %', get_stream_messages.stream_name;
    END IF;
    IF message_store.setting_is_on('debug') OR message_store.setting_is_on('debug_get') THEN
        RAISE NOTICE '» get_stream_messages';
        RAISE NOTICE 'stream_name: %', get_stream_messages.stream_name;
        RAISE NOTICE 'position: %', first_position;
        RAISE NOTICE 'batch_size: %', coalesce(batch_size, 1000);
        RAISE NOTICE 'condition: %', condition;
    END IF;
    IF condition IS NULL THEN
        RETURN QUERY
        SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
               m.global_position, m.data::varchar, m.metadata::varchar, m.time
          FROM message_store.messages m
         WHERE m.stream_name = get_stream_messages.stream_name AND m.position >= first_position
         ORDER BY m.position
         LIMIT row_limit;
        RETURN;
    END IF;
    PERFORM message_store.require_sql_condition();
    RETURN QUERY EXECUTE format(
        'SELECT id::varchar, stream_name::varchar, type::varchar, position,
                global_position, data::varchar, metadata::varchar, time
           FROM message_store.messages
          WHERE stream_name = $1 AND position >= $2 AND (%s)
          ORDER BY position
          LIMIT $3', condition)
    USING get_stream_messages.stream_name, first_position, row_limit;
END
$$;
