-- The last message of a stream, or its last message of one type.
CREATE FUNCTION message_store.get_last_stream_message(
    stream_name varchar,
    type varchar DEFAULT NULL
) RETURNS SETOF message_store.message
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF message_store.setting_is_on('debug') OR message_store.setting_is_on('debug_get') THEN
        RAISE NOTICE '» get_last_stream_message';
        RAISE NOTICE 'stream_name: %', get_last_stream_message.stream_name;
        RAISE NOTICE 'type: %', get_last_stream_message.type;
    END IF;
    RETURN QUERY
    SELECT m.id::varchar, m.stream_name::varchar, m.type::varchar, m.position,
           m.global_position, m.data::varchar, m.metadata::varchar, m.time
      FROM message_store.messages m
     WHERE m.stream_name = get_last_stream_message.stream_name
       AND (get_last_stream_message.type IS NULL OR m.type = get_last_stream_message.type)
     ORDER BY m.position DESC
     LIMIT 1;
END
$$;
